// Versions of reverse_array: nothing to measure, but every version that is not a reversed copy must be seen.
#include "elementwise.h"

using namespace measure;

template <Rounding R>
void reversed(const Unary& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) y[i] = R(in.x[y.size() - 1 - i]);
}

float plusZero(float v) { return v + 0.0f; }

std::vector<Variant<Unary>> variants(cm::Storage elem) {
  std::vector<Variant<Unary>> list = {
      {"reversed copy", true, reversed<toFloat>},
      {"copy", false, [](const Unary& in, Values& y) { y = in.x; }},
      {"through fp16", false, reversed<toHalf>},
      {"x + 0", false, reversed<plusZero>},
      {"middle element missing", false, [](const Unary& in, Values& y) { reversed<toFloat>(in, y); y[y.size() / 2] = NAN; }},
      {"pairs of elements kept in order", false,
       [](const Unary& in, Values& y) {
         reversed<toFloat>(in, y);
         for (size_t i = 0; i + 1 < y.size(); i += 2) std::swap(y[i], y[i + 1]);
       }},
      {"zeros", false, [](const Unary&, Values&) {}},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"through TF32", false, reversed<toTf32>});
    list.push_back({"through bf16", false, reversed<toBf16>});
  }
  return list;
}

int main() { return program<Unary>(variants); }
