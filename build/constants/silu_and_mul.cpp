// Versions of silu_and_mul for measuring its error constant.
#include "elementwise.h"

using namespace measure;

/** x and g of each result, brought together. */
struct Halves : Elements {
  Halves(const cm::Problem& p, uint64_t) {
    const Values in = cm::floats(p.in("in"));
    const size_t rows = size_t(p.dim("B")), columns = size_t(p.dim("D"));
    for (size_t r = 0; r < rows; r++)
      for (size_t d = 0; d < columns; d++) {
        x.push_back(in[r * 2 * columns + d]);
        y.push_back(in[(r * 2 + 1) * columns + d]);
      }
  }
};

using Function = float (*)(float);
using Quotient = float (*)(float, float);
float divide(float a, float b) { return a / b; }
template <Function F, Quotient Q>
float origin(float x, float y, const Elements&) { return Q(x, 1.0f + F(-x)) * y; }
template <Function F, Quotient Q>
float sigmoidFirst(float x, float y, const Elements&) { return x * Q(1.0f, 1.0f + F(-x)) * y; }
template <Function F, Quotient Q>
float productFirst(float x, float y, const Elements&) { return x * y * Q(1.0f, 1.0f + F(-x)); }
template <Rounding R>
float expIn(float v) { return R(gpuExp(R(v))); }
/** The gate rounded before it is multiplied. */
template <Rounding R>
float gateIn(float x, float y, const Elements&) { return R(x / (1.0f + gpuExp(-x))) * y; }
float hardwareTanh(float x, float y, const Elements&) { return x * (0.5f + 0.5f * approximateTanh(0.5f * (x))) * y; }
float gateAlone(float x, float, const Elements&) { return x / (1.0f + gpuExp(-x)); }
float withoutSigmoid(float x, float y, const Elements&) { return x * y; }
float inverted(float x, float y, const Elements&) { return x * gpuExp(x) / (1.0f + gpuExp(x)) * y; }
float swapped(float x, float y, const Elements& in) { return origin<gpuExp, divide>(y, x, in); }

std::vector<Variant<Halves>> variants(cm::Storage elem) {
  std::vector<Variant<Halves>> list = {
      {"origin", true, each<Halves>(origin<gpuExp, divide>)},
      {"fast-math", true, each<Halves>(origin<fastExp, fastDivide>)},
      {"fast-math, sigmoid first", true, each<Halves>(sigmoidFirst<fastExp, fastDivide>)},
      {"sigmoid last", true, each<Halves>(productFirst<gpuExp, divide>)},
      {"sigmoid first", true, each<Halves>(sigmoidFirst<gpuExp, divide>)},
      {"halves exchanged", false, each<Halves>(swapped)},
      {"sigmoid missing", false, each<Halves>(withoutSigmoid)},
      {"second factor missing", false, each<Halves>(gateAlone)},
      {"tanh.approx", false, each<Halves>(hardwareTanh)},
      {"exp(x) / (1 + exp(x)): NaN where exp overflows", false, each<Halves>(inverted)},
      {"exponential in fp16", false, each<Halves>(origin<expIn<toHalf>, divide>)},
      {"exponential in bf16", false, each<Halves>(origin<expIn<toBf16>, divide>)},
      {"gate rounded to fp16", false, each<Halves>(gateIn<toHalf>)},
      {"gate rounded to bf16", false, each<Halves>(gateIn<toBf16>)},
  };
  addWrong(list, elem, origin<gpuExp, divide>);
  return list;
}

int main() { return program<Halves>(variants); }
