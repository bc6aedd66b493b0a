// Versions of gelu for measuring its error constant.
#include "elementwise.h"

using namespace measure;

using Function = float (*)(float);
template <Function F>
float gelu(float x, float, const Elements&) { return 0.5f * x * (1.0f + F(x * 0.70710678f)); }
float distributed(float x, float, const Elements&) {
  const float half = 0.5f * x;
  return std::fmaf(half, gpuErf(x * 0.70710678f), half);
}
float complementary(float x, float, const Elements&) { return 0.5f * x * library(std::erfc(-double(x) * 0.70710678118654752), 4, x); }
float inDouble(float x, float, const Elements&) { return float(0.5 * double(x) * (1.0 + double(gpuErf(x * 0.70710678f)))); }
/** Abramowitz and Stegun 7.1.26 has an absolute error of 1.5e-7, 2.5 units of 2^-24. */
float polynomialErf(float v) { return float(std::erf(double(v)) + 1.5e-7 * noise(v)); }
template <Rounding R>
float erfIn(float v) { return R(gpuErf(R(v))); }
float byTanh(float x, float, const Elements&) { return 0.5f * x * (1.0f + gpuTanh(0.79788456f * (x + 0.044715f * x * x * x))); }
float bySigmoid(float x, float, const Elements&) { return x / (1.0f + gpuExp(-1.702f * x)); }
float relu(float x, float, const Elements&) { return x > 0 ? x : 0.0f; }
/** 7.1.25: absolute error 2.5e-5. */
float coarseErf(float v) { return float(std::erf(double(v)) + 2.5e-5 * noise(v)); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: erf", true, each<Unary>(gelu<gpuErf>)},
      {"fused", true, each<Unary>(distributed)},
      {"erfc", true, each<Unary>(complementary)},
      {"products in double, as published", true, each<Unary>(inDouble)},
      {"erf by a polynomial of 1.5e-7", true, each<Unary>(gelu<polynomialErf>)},
      {"tanh approximation", false, each<Unary>(byTanh)},
      {"sigmoid approximation", false, each<Unary>(bySigmoid)},
      {"relu", false, each<Unary>(relu)},
      {"erf in fp16", false, each<Unary>(gelu<erfIn<toHalf>>)},
      {"erf in bf16", false, each<Unary>(gelu<erfIn<toBf16>>)},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"erf by a polynomial of 2.5e-5", false, each<Unary>(gelu<coarseErf>)});
  }
  addWrong(list, elem, gelu<gpuErf>);
  return list;
}

int main() { return program<Unary>(variants); }
