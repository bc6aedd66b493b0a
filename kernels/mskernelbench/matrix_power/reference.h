// Reference of matrix_power: the products one after the other in double, row by row: row i of A^P is row i of A times A, P - 1
// times, so single results need no whole matrices.
#pragma once

#include "products.h"

namespace task {

/**
 * Scale: root mean square of the result's row. A rounding in an early power reaches every element of its row through the
 * later factors, so an element's error does not depend on its own size. n: the roundings that reach a result one after the
 * other, N of each of the P - 1 products. P = 1 is a copy.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : n_(p.dim("N")), power_(p.dim("P")), matrix_(p.in("A")) {}

  cm::Ref at(int, int64_t i) const {
    std::vector<double> row(static_cast<size_t>(n_));
    rows(i / n_, 1, row.data());
    return element(row.data(), i % n_);
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    blocks_.copy(first, count, n_ * n_, out, [this](int64_t begin, int64_t size, cm::Ref* refs) { block(begin, size, refs); });
  }

 private:
  void block(int64_t first, int64_t count, cm::Ref* out) const {
    const int64_t row = first / n_, last = (first + count - 1) / n_;
    std::vector<double> values(size_t((last - row + 1) * n_));
    rows(row, last - row + 1, values.data());
    for (int64_t r = row; r <= last; r++) {
      const double* v = values.data() + (r - row) * n_;
      const double scale = rms(v);
      for (int64_t c = 0; c < n_; c++) {
        const int64_t i = r * n_ + c - first;
        if (i >= 0 && i < count) out[i] = ref(v[c], scale);
      }
    }
  }

  /** Rows first … first + count - 1 of the power. */
  void rows(int64_t first, int64_t count, double* out) const {
    const float* a = matrix_.data();
    std::copy_n(a + first * n_, count * n_, out);
    std::vector<double> next(size_t(count * n_));
    const auto row = [&](int64_t r, double* to) { std::copy_n(out + r * n_, n_, to); };
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t k = 0; k < n_; k++) std::copy_n(a + k * n_ + c, width, to + k * cm::kLanes);
    };
    const auto store = [&](int64_t r, int64_t c, double sum, double) { next[size_t(r * n_ + c)] = sum; };
    for (int64_t p = 1; p < power_; p++) {
      cm::productRows(0, count, n_, n_, row, panel, store);
      std::copy(next.begin(), next.end(), out);
    }
  }

  double rms(const double* row) const {
    double squares = 0;
    for (int64_t c = 0; c < n_; c++) squares += row[c] * row[c];
    return std::sqrt(squares / double(n_));
  }

  cm::Ref ref(double value, double scale) const { return {value, power_ == 1 ? 0 : scale, double(n_ * std::max<int64_t>(1, power_ - 1))}; }
  cm::Ref element(const double* row, int64_t c) const { return ref(row[c], rms(row)); }

  int64_t n_, power_;
  cm::LazyFloats matrix_;
  cm::Blocks blocks_;
};

}  // namespace task
