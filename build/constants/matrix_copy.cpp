// Versions of matrix_copy: nothing to measure, but every version that is not a copy must be seen.
#include "elementwise.h"

using namespace measure;

float copied(float x, float, const Elements&) { return x; }
float plusZero(float x, float, const Elements&) { return x + 0.0f; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"copy", true, each<Unary>(copied)},
      {"x + 0", false, each<Unary>(plusZero)},
  };
  addWrong(list, elem, copied, true);
  return list;
}

int main() { return program<Unary>(variants); }
