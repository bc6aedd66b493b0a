// Reference of matrix_mul: products of stored values are exact in double and are summed in double.
#pragma once

#include "products.h"

namespace task {

/** Scale: that of a dot product (cm::dotRef) with n = K terms. Single results are dot products, whole outputs are blocked. */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : m_(p.dim("M")), n_(p.dim("N")), k_(p.dim("K")), a_(p.in("A")), b_(p.in("B")), right_(b_) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t row = i / n_, column = i % n_;
    return cm::dot(k_, [&](int64_t k) { return a_[row * k_ + k] * b_[k * n_ + column]; });
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    blocks_.copy(first, count, m_ * n_, out, [this](int64_t begin, int64_t size, cm::Ref* refs) { block(begin, size, refs); });
  }

 private:
  void block(int64_t first, int64_t count, cm::Ref* out) const {
    const float* b = right_.data();
    const auto row = [&](int64_t r, double* to) {  // each row of A belongs to one block, so none is made twice
      for (int64_t k = 0; k < k_; k++) to[k] = a_[r * k_ + k];
    };
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t k = 0; k < k_; k++) std::copy_n(b + k * n_ + c, width, to + k * cm::kLanes);
    };
    cm::productBlock(first, count, n_, k_, row, panel, out);
  }

  int64_t m_, n_, k_;
  cm::View a_, b_;
  cm::LazyFloats right_;
  cm::Blocks blocks_;
};

}  // namespace task
