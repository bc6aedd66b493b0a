// Versions of RELU: nothing to measure, but every version that does more or less than select must be seen.
#include "elementwise.h"

using namespace measure;

float relu(float x, float, const Elements&) { return x > 0 ? x : 0.0f; }
float maximum(float x, float, const Elements&) { return std::fmax(x, 0.0f); }
float leaky(float x, float, const Elements&) { return x > 0 ? x : 0.01f * x; }
float absolute(float x, float, const Elements&) { return std::fabs(x); }
float identity(float x, float, const Elements&) { return x; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: choice", true, each<Unary>(relu)},
      {"maximum", true, each<Unary>(maximum)},
      {"leaky, 0.01", false, each<Unary>(leaky)},
      {"absolute value", false, each<Unary>(absolute)},
      {"copy", false, each<Unary>(identity)},
  };
  addWrong(list, elem, relu, true);
  return list;
}

int main() { return program<Unary>(variants); }
