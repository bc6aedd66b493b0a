// Reference of SwiGLU: g / (1 + exp(-beta g)) * v in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. A correct fp32 version errs, relative to the result r, by some ulp (exponential, sum, quotient, products) and
 * by the rounding of the exponential's argument, which reaches the result with the weight 1 - s of the sigmoid s: M =
 * |r| (4 + |beta g| (1 - s)). Sigmoids below 2^-126 may be flushed to zero, as fast-math does, or be zero because
 * exp(-beta g) overflows: (|g| + 1)(|v| + 1) 2^-102 u is that much, flushed products included.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : gate_(p.in("gate_input")), value_(p.in("value_input")), beta_(p.scalar(3)) {}

  cm::Ref at(int, int64_t i) const {
    const double g = gate_[i], v = value_[i], e = std::exp(-beta_ * g);
    const double value = g / (1 + e) * v, rest = 1 / (1 + 1 / e);
    const double flushed = (std::fabs(g) + 1) * (std::fabs(v) + 1) * 0x1p-102;
    return {value, std::fabs(value) * (4 + std::fabs(beta_ * g) * rest) + flushed, 1.0};
  }

 private:
  cm::View gate_, value_;
  double beta_;
};

}  // namespace task
