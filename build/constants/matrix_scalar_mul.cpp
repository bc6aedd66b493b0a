// Versions of matrix_scalar_mul for measuring its error constant.
#include "elementwise.h"

using namespace measure;

float times(float x, float, const Elements& in) { return in.s(0) * x; }
template <Rounding R>
float roundedScalar(float x, float, const Elements& in) { return R(in.s(0)) * x; }
template <Rounding R>
float productIn(float x, float, const Elements& in) { return R(in.s(0) * x); }
float copied(float x, float, const Elements&) { return x; }
float fixedScalar(float x, float, const Elements&) { return 0.437f * x; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin", true, each<Unary>(times)},
      {"copy", false, each<Unary>(copied)},
      {"scalar fixed", false, each<Unary>(fixedScalar)},
      {"product in fp16", false, each<Unary>(productIn<toHalf>)},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"scalar rounded to TF32", false, each<Unary>(roundedScalar<toTf32>)});
    list.push_back({"scalar rounded to fp16", false, each<Unary>(roundedScalar<toHalf>)});
  }
  addWrong(list, elem, times);
  return list;
}

int main() { return program<Unary>(variants); }
