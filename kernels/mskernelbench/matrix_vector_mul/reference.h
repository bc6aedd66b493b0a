// Reference of matrix_vector_mul: products of stored values are exact in double; each row's sum is compensated.
#pragma once

#include "products.h"

namespace task {

/** Scale: that of a dot product (cm::dotRef) with n = N terms. */
struct Reference {
  explicit Reference(const cm::Problem& p) : columns_(p.dim("N")), a_(p.in("A")), x_(p.in("x")), vector_(x_) {}

  cm::Ref at(int, int64_t row) const {
    return cm::dot(columns_, [&](int64_t j) { return a_[row * columns_ + j] * x_[j]; });
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    const float* x = vector_.data();
    cm::parallelFor(count, [&](int64_t i) {
      out[i] = cm::dot(columns_, [&](int64_t j) { return a_[(first + i) * columns_ + j] * double(x[j]); });
    });
  }

 private:
  int64_t columns_;
  cm::View a_, x_;
  cm::LazyFloats vector_;
};

}  // namespace task
