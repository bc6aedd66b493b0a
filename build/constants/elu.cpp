// Versions of elu for measuring its error constant.
#include "elementwise.h"

using namespace measure;

using Function = float (*)(float);
float minusOne(float v) { return gpuExp(v) - 1.0f; }
float minusOneFast(float v) { return fastExp(v) - 1.0f; }
float accurate(float v) { return library(std::expm1(double(v)), 1, v); }
template <Rounding R>
float minusOneIn(float v) { return R(gpuExp(R(v))) - 1.0f; }
template <Rounding R>
float differenceIn(float v) { return R(gpuExp(v) - 1.0f); }

template <Function F>
float elu(float x, float, const Elements& in) { return x >= 0 ? x : in.s(0) * F(x); }
float relu(float x, float, const Elements&) { return x > 0 ? x : 0.0f; }
float fixedAlpha(float x, float, const Elements&) { return x >= 0 ? x : minusOne(x); }
float fusedAlpha(float x, float, const Elements& in) { return x >= 0 ? x : std::fmaf(in.s(0), gpuExp(x), -in.s(0)); }
float bothBranches(float x, float, const Elements& in) { return std::fmax(x, 0.0f) + in.s(0) * (gpuExp(x) - 1.0f) * (x < 0 ? 1.0f : 0.0f); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: exp(x) - 1", true, each<Unary>(elu<minusOne>)},
      {"fast-math exponential", true, each<Unary>(elu<minusOneFast>)},
      {"expm1", true, each<Unary>(elu<accurate>)},
      {"alpha exp(x) - alpha, fused", true, each<Unary>(fusedAlpha)},
      {"exponential in fp16", false, each<Unary>(elu<minusOneIn<toHalf>>)},
      {"exponential in bf16", false, each<Unary>(elu<minusOneIn<toBf16>>)},
      {"relu", false, each<Unary>(relu)},
      {"alpha fixed at 1", false, each<Unary>(fixedAlpha)},
      {"branch by a factor 0 or 1 (overflow)", false, each<Unary>(bothBranches)},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"exp(x) - 1 rounded to fp16", false, each<Unary>(elu<differenceIn<toHalf>>)});
  }
  if (elem == cm::Storage::bf16) {
    list.push_back({"exp(x) - 1 rounded to bf16", false, each<Unary>(elu<differenceIn<toBf16>>)});
  }
  addWrong(list, elem, elu<minusOne>);
  return list;
}

int main() { return program<Unary>(variants); }
