// Versions of the products with sparse matrices, for measuring their error constants. Rows are collected from the lists as
// stored, entry by entry, not by the closed forms that the references use.
#pragma once

#include "measure.h"

namespace measure {

struct SparseInputs {
  SparseInputs(const cm::Problem& p, uint64_t s, const char* dense, int64_t width)
      : values(cm::floats(p.in("values"))), x(cm::floats(p.in(dense))), entries(size_t(p.dim("rows"))), k(width), seed(s) {}

  void add(int64_t row, int64_t entry, int64_t column) { entries[size_t(row)].push_back({size_t(entry), size_t(column)}); }

  struct Entry {
    size_t index, column;
  };
  Values values, x;
  std::vector<std::vector<Entry>> entries;
  int64_t k;
  uint64_t seed;
};

inline int64_t widthOf(const cm::Problem& p, bool dense) { return dense ? p.dim("K") : 1; }

template <bool DENSE>
struct CooInputs : SparseInputs {
  CooInputs(const cm::Problem& p, uint64_t s) : SparseInputs(p, s, DENSE ? "X" : "x", widthOf(p, DENSE)) {
    const auto rows = cm::ints(p.in("row_indices")), columns = cm::ints(p.in("col_indices"));
    for (size_t e = 0; e < rows.size(); e++) add(rows[e], int64_t(e), columns[e]);
  }
};

template <bool DENSE>
struct CscInputs : SparseInputs {
  CscInputs(const cm::Problem& p, uint64_t s) : SparseInputs(p, s, DENSE ? "X" : "x", widthOf(p, DENSE)) {
    const auto rows = cm::ints(p.in("row_indices")), offsets = cm::ints(p.in("col_offsets"));
    for (size_t c = 0; c + 1 < offsets.size(); c++)
      for (int32_t e = offsets[c]; e < offsets[c + 1]; e++) add(rows[size_t(e)], e, int64_t(c));
  }
};

template <bool DENSE>
struct CsrInputs : SparseInputs {
  CsrInputs(const cm::Problem& p, uint64_t s) : SparseInputs(p, s, DENSE ? "X" : "x", widthOf(p, DENSE)) {
    const auto columns = cm::ints(p.in("col_indices")), offsets = cm::ints(p.in("row_offsets"));
    for (size_t r = 0; r + 1 < offsets.size(); r++)
      for (int32_t e = offsets[r]; e < offsets[r + 1]; e++) add(int64_t(r), e, columns[size_t(e)]);
  }
};

template <bool DENSE>
struct EllInputs : SparseInputs {
  EllInputs(const cm::Problem& p, uint64_t s) : SparseInputs(p, s, DENSE ? "X" : "x", widthOf(p, DENSE)) {
    const auto columns = cm::ints(p.in("col_ids"));
    const int64_t places = p.dim("width");
    for (size_t e = 0; e < columns.size(); e++)
      if (columns[e] >= 0) add(int64_t(e) / places, int64_t(e), columns[e]);
  }
};

/** y[i] = sum(terms of result i, i), factors rounded by F and products by P. */
template <class Inputs, Rounding F, Rounding P, class Sum>
std::function<void(const Inputs&, Values&)> results(Sum sum) {
  return [sum](const Inputs& in, Values& y) {
    Values terms;
    for (size_t i = 0; i < y.size(); i++) {
      terms.clear();
      const size_t row = i / size_t(in.k), column = i % size_t(in.k);
      for (const auto& e : in.entries[row]) terms.push_back(P(F(in.values[e.index]) * F(in.x[e.column * size_t(in.k) + column])));
      y[i] = sum(terms, in.seed + i);
    }
  };
}

/** LANES threads a row, then a tree; R rounds partial sums. */
template <int LANES, Rounding R = toFloat>
float lanes(const Values& t, uint64_t) {
  return t.empty() ? 0.0f : tree<R>(strided<R>(t.size(), LANES, [&](size_t i) { return t[i]; }));
}
inline float inOrder(const Values& t, uint64_t) { return sequential(t); }
inline float atomics(const Values& t, uint64_t seed) { return sequential(shuffled(t, seed)); }
inline float byTree(const Values& t, uint64_t) { return tree(t); }
/** Pieces of 64 entries by different threads, added atomically in random order. */
inline float pieces(const Values& t, uint64_t seed) {
  Values sums;
  for (size_t i = 0; i < t.size(); i += 64) {
    float s = 0;
    for (size_t k = i; k < std::min(t.size(), i + 64); k++) s += t[k];
    sums.push_back(s);
  }
  return sequential(shuffled(sums, seed));
}
/** Fused multiply-adds: the product enters the sum unrounded (exact in double, then one rounding). */
template <class Inputs>
void fused(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) {
    float s = 0;
    for (const auto& e : in.entries[i / size_t(in.k)])
      s = std::fmaf(in.values[e.index], in.x[e.column * size_t(in.k) + i % size_t(in.k)], s);
    y[i] = s;
  }
}
inline float laneSumsInBf16(const Values& t, uint64_t) {
  return t.empty() ? 0.0f : tree<toBf16>(strided(t.size(), 32, [&](size_t i) { return t[i]; }));
}
inline float withoutLast(const Values& t, uint64_t) { return t.empty() ? 0.0f : tree(t.data(), t.size() - 1); }
inline float firstThousand(const Values& t, uint64_t) { return tree(t.data(), std::min<size_t>(1000, t.size())); }
inline float notWritten(const Values& t, uint64_t) { return t.empty() ? NAN : tree(t); }
template <Rounding R>
float rounded(const Values& t, uint64_t) { return R(tree(t)); }

template <class Inputs>
std::vector<Variant<Inputs>> sparseVersions(cm::Storage elem) {
  const auto plain = [](auto sum) { return results<Inputs, toFloat, toFloat>(sum); };
  std::vector<Variant<Inputs>> list = {
      {"one thread a result, stored order", true, plain(inOrder)},
      {"one thread a result, fused", true, fused<Inputs>},
      {"an atomic for every entry, random order", true, plain(atomics)},
      {"warp a row", true, plain(lanes<32>)},
      {"block a row", true, plain(lanes<256>)},
      {"pieces of 64, atomics in random order", true, plain(pieces)},
      {"products rounded to bf16", false, results<Inputs, toFloat, toBf16>(lanes<32>)},
      {"products rounded to fp16", false, results<Inputs, toFloat, toHalf>(lanes<32>)},
      {"sums in bf16", false, results<Inputs, toFloat, toBf16>(lanes<32, toBf16>)},
      {"sums in fp16", false, results<Inputs, toHalf, toHalf>(lanes<32, toHalf>)},
      {"lane sums rounded to bf16", false, plain(laneSumsInBf16)},
      {"last entry of every row ignored", false, plain(withoutLast)},
      {"empty rows not written", false, plain(notWritten)},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, plain(rounded<truncateBf16>)});
  } else {
    list.push_back({"factors rounded to fp16", false, results<Inputs, toHalf, toFloat>(lanes<32>)});
    list.push_back({"factors rounded to TF32", false, results<Inputs, toTf32, toFloat>(lanes<32>)});
    list.push_back({"result rounded to bf16", false, plain(rounded<toBf16>)});
  }
  return list;
}

}  // namespace measure
