// Versions of selu for measuring its error constant.
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
float selu(float x, float, const Elements& in) { return x >= 0 ? in.s(1) * x : in.s(1) * in.s(0) * F(x); }
float fixedParameters(float x, float, const Elements&) { return x >= 0 ? x : 1.67f * minusOne(x); }
float paperParameters(float x, float, const Elements&) { return x >= 0 ? 1.0507f * x : 1.0507f * 1.6733f * minusOne(x); }
float inTurn(float x, float, const Elements& in) { return in.s(1) * (x >= 0 ? x : in.s(0) * minusOne(x)); }
float lambdaOnce(float x, float, const Elements& in) { return x >= 0 ? in.s(1) * x : in.s(0) * minusOne(x); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin: exp(x) - 1", true, each<Unary>(selu<minusOne>)},
      {"fast-math exponential", true, each<Unary>(selu<minusOneFast>)},
      {"expm1", true, each<Unary>(selu<accurate>)},
      {"lambda (alpha (exp(x) - 1))", true, each<Unary>(inTurn)},
      {"exponential in fp16", false, each<Unary>(selu<minusOneIn<toHalf>>)},
      {"exponential in bf16", false, each<Unary>(selu<minusOneIn<toBf16>>)},
      {"parameters fixed as published", false, each<Unary>(fixedParameters)},
      {"parameters fixed as in the SELU paper", false, each<Unary>(paperParameters)},
      {"lambda missing below zero", false, each<Unary>(lambdaOnce)},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"exp(x) - 1 rounded to fp16", false, each<Unary>(selu<differenceIn<toHalf>>)});
  }
  if (elem == cm::Storage::bf16) {
    list.push_back({"exp(x) - 1 rounded to bf16", false, each<Unary>(selu<differenceIn<toBf16>>)});
  }
  addWrong(list, elem, selu<minusOne>);
  return list;
}

int main() { return program<Unary>(variants); }
