// Versions of matrix_power for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : a(cm::floats(p.in("A"))), n(size_t(p.dim("N"))), power(p.dim("P")) {}
  Values a;
  size_t n;
  int64_t power;
};

/** Sum of products of a row and a column, `stride` apart. */
using Dot = float (*)(const float* row, const float* column, size_t n);

float inOrder(const float* a, const float* b, size_t n) {
  float s = 0;
  for (size_t k = 0; k < n; k++) s += a[k] * b[k * n];
  return s;
}
float fused(const float* a, const float* b, size_t n) {
  float s = 0;
  for (size_t k = 0; k < n; k++) s = std::fmaf(a[k], b[k * n], s);
  return s;
}
template <Rounding F = toFloat>
float eightLanes(const float* a, const float* b, size_t n) {
  float s[8] = {};
  for (size_t k = 0; k < n; k++) s[k % 8] += F(a[k]) * F(b[k * n]);
  return tree(s, 8);
}
template <Rounding R>
float rounding(const float* a, const float* b, size_t n) {
  float s = 0;
  for (size_t k = 0; k < n; k++) s = R(s + a[k] * b[k * n]);
  return s;
}
float withoutLast(const float* a, const float* b, size_t n) {
  float s = 0;
  for (size_t k = 0; k + 1 < n; k++) s += a[k] * b[k * n];
  return s;
}
/** Three TF32 products for one, each cut off as tensor cores do. */
float splitTf32(const float* a, const float* b, size_t n) {
  const auto cut = [](double v) {
    const float f = float(v);
    return std::fabs(double(f)) > std::fabs(v) ? std::nextafter(f, 0.0f) : f;
  };
  float s = 0;
  for (size_t k = 0; k < n; k += 8) {
    double low = s, high = 0;
    for (size_t j = k; j < std::min(n, k + 8); j++) {
      const float ah = toTf32(a[j]), al = toTf32(a[j] - ah), bh = toTf32(b[j * n]), bl = toTf32(b[j * n] - bh);
      low += double(ah) * double(bl) + double(al) * double(bh);
      high += double(ah) * double(bh);
    }
    s = cut(cut(low) + high);
  }
  return s;
}

template <Dot D, Rounding Store = toFloat>
Values product(const Values& a, const Values& b, size_t n) {
  Values c(n * n);
  for (size_t i = 0; i < n; i++)
    for (size_t j = 0; j < n; j++) c[i * n + j] = Store(D(&a[i * n], &b[j], n));
  return c;
}

/** The running power times A, P - 1 times; Store rounds each but the last. */
template <Dot D, Rounding Store = toFloat>
void running(const Inputs& in, Values& y) {
  y = in.a;
  for (int64_t p = 1; p < in.power; p++) y = p + 1 < in.power ? product<D, Store>(y, in.a, in.n) : product<D>(y, in.a, in.n);
}

/** Squares of squares, and the product of those that P's bits name; Store rounds what is multiplied again. */
template <Dot D, Rounding Store = toFloat>
void squaring(const Inputs& in, Values& y) {
  Values square = in.a;
  bool any = false;
  for (int64_t p = in.power; p > 0; p >>= 1) {
    if (p & 1) {
      for (float& v : y) v = any ? Store(v) : v;
      y = any ? product<D>(y, square, in.n) : square;
      any = true;
    }
    if (p > 1) square = product<D, Store>(square, square, in.n);
  }
}

void exact(const Inputs& in, Values& y) {
  std::vector<double> v(in.a.begin(), in.a.end()), next(v.size());
  for (int64_t p = 1; p < in.power; p++) {
    for (size_t i = 0; i < in.n; i++)
      for (size_t j = 0; j < in.n; j++) {
        double s = 0;
        for (size_t k = 0; k < in.n; k++) s += v[i * in.n + k] * double(in.a[k * in.n + j]);
        next[i * in.n + j] = s;
      }
    v = next;
  }
  for (size_t i = 0; i < v.size(); i++) y[i] = float(v[i]);
}

template <int64_t D>
void otherPower(const Inputs& in, Values& y) {
  Inputs other = in;
  other.power = std::max<int64_t>(in.power == 1 ? 2 : 1, in.power + D);
  exact(other, y);
}

template <Rounding R>
void rounded(const Inputs& in, Values& y) {
  running<inOrder>(in, y);
  for (float& v : y) v = R(v);
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"exact, rounded once", true, exact},
      {"origin: running power, in order", true, running<inOrder>},
      {"running power, fused", true, running<fused>},
      {"running power, 8 accumulators", true, running<eightLanes>},
      {"repeated squaring, in order", true, squaring<inOrder>},
      {"repeated squaring, 8 accumulators", true, squaring<eightLanes>},
      {"repeated squaring, three TF32 products on tensor cores", true, squaring<splitTf32>},
      {"running power, three TF32 products on tensor cores", true, running<splitTf32>},
      {"sums in bf16", false, running<rounding<toBf16>>},
      {"sums in fp16", false, running<rounding<toHalf>>},
      {"running powers rounded to bf16", false, running<inOrder, toBf16>},
      {"running powers rounded to TF32", false, running<inOrder, toTf32>},
      {"squares rounded to bf16", false, squaring<inOrder, toBf16>},
      {"last term of every product ignored", false, running<withoutLast>},
      {"A^(P+1)", false, otherPower<1>},
      {"A^(P-1)", false, otherPower<-1>},
      {"zeros", false, [](const Inputs&, Values& y) { std::fill(y.begin(), y.end(), 0.0f); }},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, rounded<truncateBf16>});
  } else {
    list.push_back({"factors rounded to TF32", false, running<eightLanes<toTf32>>});
    list.push_back({"factors rounded to fp16", false, running<eightLanes<toHalf>>});
    list.push_back({"result rounded to TF32", false, rounded<toTf32>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
