// Versions of matrix_transpose: nothing to measure, but every version that is not a copy must be seen.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : a(cm::floats(p.in("A"))), rows(p.dim("M")), columns(p.dim("N")) {}
  Values a;
  int64_t rows, columns;
};

template <Rounding R>
void copy(const Inputs& in, Values& y) {
  for (int64_t i = 0; i < in.rows; i++)
    for (int64_t j = 0; j < in.columns; j++) y[size_t(j * in.rows + i)] = R(in.a[size_t(i * in.columns + j)]);
}

float plusZero(float v) { return v + 0.0f; }

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"copy", true, copy<toFloat>},
      {"copy through fp16", false, copy<toHalf>},
      {"x + 0", false, copy<plusZero>},
      {"last element missing", false, [](const Inputs& in, Values& y) { copy<toFloat>(in, y); y.back() = 0; }},
      {"not transposed", false, [](const Inputs& in, Values& y) { y = in.a; }},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"copy through TF32", false, copy<toTf32>});
    list.push_back({"copy through bf16", false, copy<toBf16>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
