// Reference of square_matrix_mul: products of stored values are exact in double and are summed in double.
#pragma once

#include "products.h"

namespace task {

/** Scale: that of a dot product (cm::dotRef) with n = M terms. Single results are dot products, whole outputs are blocked. */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : n_(p.dim("M")), a_(p.in("A")), b_(p.in("B")), right_(b_) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t row = i / n_, column = i % n_;
    return cm::dot(n_, [&](int64_t k) { return a_[row * n_ + k] * b_[k * n_ + column]; });
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    blocks_.copy(first, count, n_ * n_, out, [this](int64_t begin, int64_t size, cm::Ref* refs) { block(begin, size, refs); });
  }

 private:
  void block(int64_t first, int64_t count, cm::Ref* out) const {
    const float* b = right_.data();
    const auto row = [&](int64_t r, double* to) {  // each row of A belongs to one block, so none is made twice
      for (int64_t k = 0; k < n_; k++) to[k] = a_[r * n_ + k];
    };
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t k = 0; k < n_; k++) std::copy_n(b + k * n_ + c, width, to + k * cm::kLanes);
    };
    cm::productBlock(first, count, n_, n_, row, panel, out);
  }

  int64_t n_;
  cm::View a_, b_;
  cm::LazyFloats right_;
  cm::Blocks blocks_;
};

}  // namespace task
