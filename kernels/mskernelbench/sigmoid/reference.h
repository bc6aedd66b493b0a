// Reference of sigmoid: 1 / (1 + exp(-x)) in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. A correct fp32 version errs, relative to the result r, by some ulp (exponential, sum, quotient) and by the
 * rounding of the exponential's argument (x log2 e in fast versions), which reaches the result with the weight 1 - r:
 * M = r (2 + |x| (1 - r)). Below 2^-126 results may be flushed to zero, as fast-math does, and 1 / (1 + exp(-x)) gives
 * zero where exp(-x) overflows; 2^-102 u is that much.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : x_(p.in("input")) {}

  cm::Ref at(int, int64_t i) const {
    const double x = x_[i], e = std::exp(-x);
    const double value = 1 / (1 + e), rest = 1 / (1 + 1 / e);
    return {value, value * (2 + std::fabs(x) * rest) + 0x1p-102, 1.0};
  }

 private:
  cm::View x_;
};

}  // namespace task
