// Versions of leaky_RELU for measuring its error constant.
#include "elementwise.h"

using namespace measure;

float leaky(float x, float, const Elements& in) { return x >= 0 ? x : in.s(0) * x; }
float twoParts(float x, float, const Elements& in) { return std::fmax(x, 0.0f) + in.s(0) * std::fmin(x, 0.0f); }
float relu(float x, float, const Elements&) { return x > 0 ? x : 0.0f; }
float fixedAlpha(float x, float, const Elements&) { return x >= 0 ? x : 0.01f * x; }
float byMaximum(float x, float, const Elements& in) { return std::fmax(x, in.s(0) * x); }
template <Rounding R>
float roundedAlpha(float x, float, const Elements& in) { return x >= 0 ? x : R(in.s(0)) * x; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: choice", true, each<Unary>(leaky)},
      {"sum of two parts", true, each<Unary>(twoParts)},
      {"relu", false, each<Unary>(relu)},
      {"alpha fixed at 0.01", false, each<Unary>(fixedAlpha)},
      {"maximum of x and alpha x", false, each<Unary>(byMaximum)},
      {"alpha rounded to bf16", false, each<Unary>(roundedAlpha<toBf16>)},
      {"alpha rounded to fp16", false, each<Unary>(roundedAlpha<toHalf>)},
  };
  addWrong(list, elem, leaky);
  return list;
}

int main() { return program<Unary>(variants); }
