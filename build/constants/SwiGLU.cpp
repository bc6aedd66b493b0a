// Versions of SwiGLU for measuring its error constant.
#include "elementwise.h"

using namespace measure;

using Function = float (*)(float);
using Quotient = float (*)(float, float);
float divide(float a, float b) { return a / b; }
template <Function F, Quotient Q>
float origin(float x, float y, const Elements& in) { return Q(x, 1.0f + F(-in.s(0) * x)) * y; }
template <Function F, Quotient Q>
float sigmoidFirst(float x, float y, const Elements& in) { return x * Q(1.0f, 1.0f + F(-in.s(0) * x)) * y; }
template <Function F, Quotient Q>
float productFirst(float x, float y, const Elements& in) { return x * y * Q(1.0f, 1.0f + F(-in.s(0) * x)); }
template <Rounding R>
float expIn(float v) { return R(gpuExp(R(v))); }
/** The gate rounded before it is multiplied. */
template <Rounding R>
float gateIn(float x, float y, const Elements& in) { return R(x / (1.0f + gpuExp(-in.s(0) * x))) * y; }
float hardwareTanh(float x, float y, const Elements& in) { return x * (0.5f + 0.5f * approximateTanh(0.5f * (in.s(0) * x))) * y; }
float gateAlone(float x, float, const Elements& in) { return x / (1.0f + gpuExp(-in.s(0) * x)); }
float withoutSigmoid(float x, float y, const Elements&) { return x * y; }
float inverted(float x, float y, const Elements& in) { return x * gpuExp(in.s(0) * x) / (1.0f + gpuExp(in.s(0) * x)) * y; }
float swapped(float x, float y, const Elements& in) { return origin<gpuExp, divide>(y, x, in); }
float fixedBeta(float x, float y, const Elements&) { return x / (1.0f + gpuExp(-x)) * y; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin", true, each<Unary>(sigmoidFirst<gpuExp, divide>)},
      {"fast-math", true, each<Unary>(origin<fastExp, fastDivide>)},
      {"fast-math, sigmoid first", true, each<Unary>(sigmoidFirst<fastExp, fastDivide>)},
      {"sigmoid last", true, each<Unary>(productFirst<gpuExp, divide>)},
      {"g divided first", true, each<Unary>(origin<gpuExp, divide>)},
      {"inputs exchanged", false, each<Unary>(swapped)},
      {"sigmoid missing", false, each<Unary>(withoutSigmoid)},
      {"second factor missing", false, each<Unary>(gateAlone)},
      {"tanh.approx", false, each<Unary>(hardwareTanh)},
      {"exp(x) / (1 + exp(x)): NaN where exp overflows", false, each<Unary>(inverted)},
      {"exponential in fp16", false, each<Unary>(origin<expIn<toHalf>, divide>)},
      {"exponential in bf16", false, each<Unary>(origin<expIn<toBf16>, divide>)},
      {"gate rounded to fp16", false, each<Unary>(gateIn<toHalf>)},
      {"gate rounded to bf16", false, each<Unary>(gateIn<toBf16>)},
      {"beta fixed at 1", false, each<Unary>(fixedBeta)},
  };
  addWrong(list, elem, origin<gpuExp, divide>);
  return list;
}

int main() { return program<Unary>(variants); }
