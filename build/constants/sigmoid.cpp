// Versions of sigmoid for measuring its error constant.
#include "elementwise.h"

using namespace measure;

using Function = float (*)(float);
using Quotient = float (*)(float, float);
float divide(float a, float b) { return a / b; }
float reciprocal(float, float b) { return library(1 / double(b), 1, b); }
template <Function F, Quotient Q>
float sigmoid(float x, float, const Elements&) { return Q(1.0f, 1.0f + F(-x)); }
/** Never overflows: by exp(-abs(x)). */
float symmetric(float x, float, const Elements&) {
  const float e = gpuExp(-std::fabs(x));
  return x >= 0 ? 1.0f / (1.0f + e) : e / (1.0f + e);
}
template <Rounding R>
float expIn(float v) { return R(gpuExp(R(v))); }
float byTanh(float x, float, const Elements&) { return 0.5f + 0.5f * approximateTanh(0.5f * x); }
float inverted(float x, float, const Elements&) { return gpuExp(x) / (1.0f + gpuExp(x)); }
float positive(float x, float, const Elements&) { return 1.0f / (1.0f + gpuExp(x)); }
float hard(float x, float, const Elements&) { return std::fmin(1.0f, std::fmax(0.0f, 0.2f * x + 0.5f)); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin", true, each<Unary>(sigmoid<gpuExp, divide>)},
      {"fast-math", true, each<Unary>(sigmoid<fastExp, fastDivide>)},
      {"reciprocal", true, each<Unary>(sigmoid<gpuExp, reciprocal>)},
      {"by exp(-abs(x))", true, each<Unary>(symmetric)},
      {"tanh.approx", false, each<Unary>(byTanh)},
      {"exp(x) / (1 + exp(x)): NaN where exp overflows", false, each<Unary>(inverted)},
      {"sign of x wrong", false, each<Unary>(positive)},
      {"hard sigmoid", false, each<Unary>(hard)},
      {"exponential in fp16", false, each<Unary>(sigmoid<expIn<toHalf>, divide>)},
      {"exponential in bf16", false, each<Unary>(sigmoid<expIn<toBf16>, divide>)},
  };
  addWrong(list, elem, sigmoid<gpuExp, divide>);
  return list;
}

int main() { return program<Unary>(variants); }
