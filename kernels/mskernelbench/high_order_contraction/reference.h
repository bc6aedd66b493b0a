// Reference of high_order_contraction: products of stored values are exact in double and are summed in double.
#pragma once

#include "products.h"

namespace task {

/**
 * Scale: that of a dot product (cm::dotRef) with n = x_dim * y_dim terms. A whole output is computed as the matrix product
 * it is: rows (a, b), columns c, terms (x, y).
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : a_(p.dim("a_dim")), b_(p.dim("b_dim")), c_(p.dim("c_dim")), x_(p.dim("x_dim")), y_(p.dim("y_dim")), inA_(p.in("A")),
        inB_(p.in("B")), right_(inB_) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t row = i / c_, c = i % c_;
    return cm::dot(x_ * y_, [&](int64_t k) { return inA_[indexA(row, k)] * inB_[indexB(c, k)]; });
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    blocks_.copy(first, count, a_ * b_ * c_, out,
                 [this](int64_t begin, int64_t size, cm::Ref* refs) { block(begin, size, refs); });
  }

 private:
  /** Element A[a][x][b][y] of row (a, b) and term (x, y). */
  int64_t indexA(int64_t row, int64_t k) const { return ((row / b_ * x_ + k / y_) * b_ + row % b_) * y_ + k % y_; }
  /** Element B[x][c][y]. */
  int64_t indexB(int64_t c, int64_t k) const { return (k / y_ * c_ + c) * y_ + k % y_; }

  void block(int64_t first, int64_t count, cm::Ref* out) const {
    const float* b = right_.data();
    const auto row = [&](int64_t r, double* to) {  // each row belongs to one block, so none is made twice
      for (int64_t k = 0; k < x_ * y_; k++) to[k] = inA_[indexA(r, k)];
    };
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t k = 0; k < x_ * y_; k++)
        for (int64_t j = 0; j < width; j++) to[k * cm::kLanes + j] = b[indexB(c + j, k)];
    };
    cm::productBlock(first, count, c_, x_ * y_, row, panel, out);
  }

  int64_t a_, b_, c_, x_, y_;
  cm::View inA_, inB_;
  cm::LazyFloats right_;
  cm::Blocks blocks_;
};

}  // namespace task
