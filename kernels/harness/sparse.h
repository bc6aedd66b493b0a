// References of products with sparse matrices: entries of a row found through the closed forms behind the generators, so that
// a single result costs no more than its row, in every format.
#pragma once

#include <algorithm>
#include <mutex>
#include <vector>

#include "reference_api.h"

namespace cm {

/** Entries begin … end - 1 of row r, counted in order of rows, of a list made by `rows` or of a matrix with `offsets`. */
struct EntryRange {
  int64_t begin, end;
};

namespace detail {

inline EntryRange rangeOf(bool skewed, const Generator& g, int64_t r) {
  if (!skewed) return {evenOffset(r, g.a, g.b), evenOffset(r + 1, g.a, g.b)};
  if (r % g.c != 0) return {0, 0};
  const int64_t parts = (g.a + g.c - 1) / g.c, part = r / g.c;
  return {evenOffset(part, parts, g.b), evenOffset(part + 1, parts, g.b)};
}

inline const View& made(const View& v, Kind one, Kind other, const char* what) {
  if (v.generator().kind != one && v.generator().kind != other) usage(std::string("expected a generator of kind ") + what);
  return v;
}

}  // namespace detail

/** Rows of a CSR matrix: each(r, f) calls f(value, column) for every entry of row r. */
class CsrRows {
 public:
  explicit CsrRows(const Problem& p) : values_(p.in("values")), columns_(p.in("col_indices")), offsets_(p.in("row_offsets")) {}
  template <class F>
  void each(int64_t r, const F& f) const {
    for (int64_t k = offsets_.i(r), end = offsets_.i(r + 1); k < end; k++) f(values_[k], columns_.i(k));
  }

 private:
  View values_, columns_, offsets_;
};

/** A list of row indices, inverted: positions of the entries of a row. */
class RowList {
 public:
  explicit RowList(const View& indices)
      : gen_(detail::made(indices, Kind::rowsEven, Kind::rowsSkewed, "rows").generator()), shuffle_(indices.key(), gen_.b) {}
  template <class F>
  void each(int64_t r, const F& f) const {
    const EntryRange range = detail::rangeOf(gen_.kind == Kind::rowsSkewed, gen_, r);
    for (int64_t k = range.begin; k < range.end; k++) f(gen_.d ? shuffle_.from(k) : k);
  }

 private:
  Generator gen_;
  Shuffle shuffle_;
};

/** Rows of a COO matrix. */
class CooRows {
 public:
  explicit CooRows(const Problem& p) : values_(p.in("values")), columns_(p.in("col_indices")), rows_(p.in("row_indices")) {}
  template <class F>
  void each(int64_t r, const F& f) const {
    rows_.each(r, [&](int64_t k) { f(values_[k], columns_.i(k)); });
  }

 private:
  View values_, columns_;
  RowList rows_;
};

/** Rows of a CSC matrix; the column of an entry comes from the closed form of col_offsets. */
class CscRows {
 public:
  explicit CscRows(const Problem& p)
      : values_(p.in("values")), rows_(p.in("row_indices")), offsets_(p.in("col_offsets").generator()) {
    detail::made(p.in("col_offsets"), Kind::offsetsEven, Kind::offsetsSkewed, "offsets");
  }
  template <class F>
  void each(int64_t r, const F& f) const {
    rows_.each(r, [&](int64_t k) { f(values_[k], columnOf(k)); });
  }

 private:
  int64_t columnOf(int64_t k) const {
    if (offsets_.kind == Kind::offsetsEven) return evenPart(k, offsets_.a, offsets_.b);
    return offsets_.c * evenPart(k, (offsets_.a + offsets_.c - 1) / offsets_.c, offsets_.b);
  }
  View values_;
  RowList rows_;
  Generator offsets_;
};

/** Rows of a row-major ELL matrix; padding (column -1) is left out. */
class EllRows {
 public:
  explicit EllRows(const Problem& p) : values_(p.in("values")), columns_(p.in("col_ids")), width_(p.dim("width")) {}
  template <class F>
  void each(int64_t r, const F& f) const {
    for (int64_t k = r * width_; k < (r + 1) * width_; k++) {
      const int64_t column = columns_.i(k);
      if (column < 0) return;
      f(values_[k], column);
    }
  }

 private:
  View values_, columns_;
  int64_t width_;
};

/**
 * y = A x. Scale, as for a dot product: root mean square of the partial sums of a row added in random order, at most
 * M = sqrt(r^2 + sum of squared terms), and n = entries of the row. A row without entries has M = 0: only 0 passes.
 */
template <class Rows>
struct SpmvReference {
  explicit SpmvReference(const Problem& p) : rows_(p), x_(p.in("x")) {}

  Ref at(int, int64_t row) const {
    Sum sum;
    double squares = 0;
    int64_t n = 0;
    rows_.each(row, [&](double value, int64_t column) {
      const double term = value * x_[column];
      sum.add(term);
      squares += term * term;
      n++;
    });
    const double value = sum.value();
    return {value, std::sqrt(value * value + squares), double(n)};
  }

 private:
  Rows rows_;
  View x_;
};

/**
 * Y = A X with X (columns x K) and Y (rows x K) row-major; scale as for y = A x. Single elements compute the inputs they need;
 * ranges share the row's entries and keep X in memory. Sums are plain double: some 2^-53 n of the terms, far below the limits.
 */
template <class Rows>
struct SpmmReference {
  explicit SpmmReference(const Problem& p) : rows_(p), x_(p.in("X")), k_(p.dim("K")) {}

  Ref at(int, int64_t i) const {
    Sum sum;
    double squares = 0;
    int64_t n = 0;
    rows_.each(i / k_, [&](double value, int64_t column) {
      const double term = value * x_[column * k_ + i % k_];
      sum.add(term);
      squares += term * term;
      n++;
    });
    const double value = sum.value();
    return {value, std::sqrt(value * value + squares), double(n)};
  }

  void all(int, int64_t first, int64_t count, Ref* out) const {
    std::call_once(once_, [this] { dense_ = floats(x_); });
    for (int64_t i = first; i < first + count;) {
      const int64_t row = i / k_, end = std::min(first + count, (row + 1) * k_);
      part(row, i % k_, end - i, out + (i - first));
      i = end;
    }
  }

 private:
  /** Columns from, from + 1 … of one row. */
  void part(int64_t row, int64_t from, int64_t count, Ref* out) const {
    std::vector<double> sums(size_t(count), 0.0), squares(size_t(count), 0.0);
    int64_t n = 0;
    rows_.each(row, [&](double value, int64_t column) {
      const float* x = dense_.data() + column * k_ + from;
      double* s = sums.data();
      double* q = squares.data();
      for (int64_t j = 0; j < count; j++) {
        const double term = value * double(x[j]);
        s[j] += term;
        q[j] += term * term;
      }
      n++;
    });
    for (int64_t j = 0; j < count; j++) {
      const double s = sums[size_t(j)];
      out[j] = {s, std::sqrt(s * s + squares[size_t(j)]), double(n)};
    }
  }

  Rows rows_;
  View x_;
  int64_t k_;
  mutable std::once_flag once_;
  mutable std::vector<float> dense_;
};

}  // namespace cm
