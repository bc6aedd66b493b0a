// Versions of vector_add for measuring its error constant.
#include "elementwise.h"

using namespace measure;

float add(float x, float y, const Elements&) { return x + y; }
float inDouble(float x, float y, const Elements&) { return float(double(x) + double(y)); }
template <Rounding R>
float addIn(float x, float y, const Elements&) { return R(x + y); }
float onlyFirst(float x, float, const Elements&) { return x; }
float difference(float x, float y, const Elements&) { return x - y; }
float product(float x, float y, const Elements&) { return std::fmaf(x, y, x); }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"origin", true, each<Unary>(add)},
      {"in double", true, each<Unary>(inDouble)},
      {"A alone", false, each<Unary>(onlyFirst)},
      {"difference", false, each<Unary>(difference)},
      {"A B + A", false, each<Unary>(product)},
      {"sum in fp16", false, each<Unary>(addIn<toHalf>)},
  };
  addWrong(list, elem, add);
  return list;
}

int main() { return program<Unary>(variants); }
