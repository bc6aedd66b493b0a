// Reference of silu_and_mul: x / (1 + exp(-x)) * g in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. A correct fp32 version errs, relative to the result r, by some ulp (exponential, sum, quotient, products) and
 * by the rounding of the exponential's argument, which reaches the result with the weight 1 - s of the sigmoid s: M =
 * |r| (4 + |x| (1 - s)). Sigmoids below 2^-126 may be flushed to zero, as fast-math does, or be zero because exp(-x)
 * overflows: (|x| + 1)(|g| + 1) 2^-102 u is that much, flushed products included.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : columns_(p.dim("D")), in_(p.in("in")) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t first = i / columns_ * 2 * columns_ + i % columns_;
    const double x = in_[first], g = in_[first + columns_], e = std::exp(-x);
    const double value = x / (1 + e) * g, rest = 1 / (1 + 1 / e);
    const double flushed = (std::fabs(x) + 1) * (std::fabs(g) + 1) * 0x1p-102;
    return {value, std::fabs(value) * (4 + std::fabs(x) * rest) + flushed, 1.0};
  }

 private:
  int64_t columns_;
  cm::View in_;
};

}  // namespace task
