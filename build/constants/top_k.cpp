// Versions of top_k: bit equality of values and positions is demanded.
#include <cstring>
#include <numeric>

#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s) : x(cm::floats(p.in("input"))), k(size_t(p.dim("k"))), seed(s) {}
  Values x;
  size_t k;
  uint64_t seed;
};

uint32_t keyOf(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  return b >> 31 ? ~b : b | 0x80000000u;
}

/** Values, then positions, of the first k in the given order of positions. */
template <class Before>
void ordered(const Inputs& in, Values& y, const Before& before, size_t from = 0) {
  std::vector<size_t> index(in.x.size());
  std::iota(index.begin(), index.end(), size_t(0));
  std::stable_sort(index.begin(), index.end(), before);
  for (size_t j = 0; j < in.k; j++) {
    const size_t i = index[std::min(j + from, index.size() - 1)];
    y[j] = in.x[i], y[in.k + j] = float(i);
  }
}
void origin(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return in.x[a] > in.x[b]; });
}
/** The larger of (key, ~position), as packed 64-bit keys do, with -0 made +0. */
void packed(const Inputs& in, Values& y) {
  const auto key = [&](size_t i) { return uint64_t(keyOf(in.x[i] + 0.0f)) << 32 | uint32_t(~uint32_t(i)); };
  ordered(in, y, [&](size_t a, size_t b) { return key(a) > key(b); });
}
void byBits(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return keyOf(in.x[a]) > keyOf(in.x[b]); });
}
void tiesDescending(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return in.x[a] > in.x[b] || (in.x[a] == in.x[b] && a > b); });
}
/** Ties in the order in which threads arrive. */
void unstable(const Inputs& in, Values& y) {
  const auto turn = [&](size_t i) { return cm::mix64(in.seed + i); };
  ordered(in, y, [&](size_t a, size_t b) { return in.x[a] > in.x[b] || (in.x[a] == in.x[b] && turn(a) < turn(b)); });
}
void smallest(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return in.x[a] < in.x[b]; });
}
void byMagnitude(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return std::fabs(in.x[a]) > std::fabs(in.x[b]); });
}
void lastElementMissed(const Inputs& in, Values& y) {
  Inputs copy = in;
  copy.x.back() = -INFINITY;
  origin(copy, y);
}
void notSorted(const Inputs& in, Values& y) {
  origin(in, y);
  std::reverse(y.begin(), y.begin() + std::ptrdiff_t(in.k));
  std::reverse(y.begin() + std::ptrdiff_t(in.k), y.end());
}
void indicesFromOne(const Inputs& in, Values& y) {
  origin(in, y);
  for (size_t j = in.k; j < y.size(); j++) y[j]++;
}
template <Rounding R>
void rounded(const Inputs& in, Values& y) {
  ordered(in, y, [&](size_t a, size_t b) { return R(in.x[a]) > R(in.x[b]); });
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin: stable sort", true, origin},
      {"packed keys", true, packed},
      {"-0 below +0", false, byBits, 1},
      {"ties by descending position", false, tiesDescending, 1},
      {"ties as threads arrive", false, unstable, 1},
      {"the smallest", false, smallest},
      {"by magnitude", false, byMagnitude},
      {"ascending", false, notSorted},
      {"last element missed", false, lastElementMissed, 0},
      {"positions from 1", false, indicesFromOne, 1},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"compared in fp16", false, rounded<toHalf>});
    list.push_back({"compared in bf16", false, rounded<toBf16>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
