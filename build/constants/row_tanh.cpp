// Versions of row_tanh for measuring its error constant.
#include "elementwise.h"

using namespace measure;

using Function = float (*)(float);
float byLibrary(float x, float, const Elements&) { return gpuTanh(x); }
template <Function F>
float byQuotient(float x, float, const Elements&) { return 1.0f - fastDivide(2.0f, F(2.0f * x) + 1.0f); }
float symmetric(float x, float, const Elements&) {
  const float e = gpuExp(-2.0f * std::fabs(x));
  return std::copysign((1.0f - e) / (1.0f + e), x);
}
float bySigmoid(float x, float, const Elements&) { return 2.0f / (1.0f + gpuExp(-2.0f * x)) - 1.0f; }
float overflowing(float x, float, const Elements&) {
  const float e = gpuExp(2.0f * x);
  return (e - 1.0f) / (e + 1.0f);
}
float hardware(float x, float, const Elements&) { return approximateTanh(x); }
float identity(float x, float, const Elements&) { return x; }
template <Rounding R>
float expIn(float v) { return R(gpuExp(R(v))); }
float clipped(float x, float, const Elements&) { return std::fmin(1.0f, std::fmax(-1.0f, x)); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: tanhf", true, each<Unary>(byLibrary)},
      {"1 - 2 / (exp(2x) + 1)", true, each<Unary>(byQuotient<gpuExp>)},
      {"1 - 2 / (exp(2x) + 1), fast-math", true, each<Unary>(byQuotient<fastExp>)},
      {"by exp(-2 abs(x))", true, each<Unary>(symmetric)},
      {"by the sigmoid of 2x", true, each<Unary>(bySigmoid)},
      {"quotient of overflowing exponentials", false, each<Unary>(overflowing)},
      {"copy", false, each<Unary>(identity)},
      {"x clipped to [-1, 1]", false, each<Unary>(clipped)},
      {"exponential in fp16", false, each<Unary>(byQuotient<expIn<toHalf>>)},
      {"exponential in bf16", false, each<Unary>(byQuotient<expIn<toBf16>>)},
  };
  // In bf16 11 bits are nearly always enough for the correct rounding, and then as good as more.
  if (elem == cm::Storage::f32) list.push_back({"tanh.approx", false, each<Unary>(hardware)});
  addWrong(list, elem, byLibrary);
  return list;
}

int main() { return program<Unary>(variants); }
