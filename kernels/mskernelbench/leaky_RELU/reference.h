// Reference of leaky_RELU: a copy, or one product, exact in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. A copy must be exact within the rounding of the stored type (M = 0); the product alpha x may be rounded to
 * fp32 before it is rounded to bf16, which is what M = |r| allows.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : x_(p.in("input")), alpha_(p.scalar(3)) {}

  cm::Ref at(int, int64_t i) const {
    const double x = x_[i];
    if (x >= 0) return {x, 0.0, 1.0};
    const double value = alpha_ * x;
    return {value, std::fabs(value), 1.0};
  }

 private:
  cm::View x_;
  double alpha_;
};

}  // namespace task
