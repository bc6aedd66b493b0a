// Reference of elu: a copy, or alpha (exp(x) - 1) in double without cancellation.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. For x >= 0 a copy (M = 0). For x < 0 the usual formula alpha (e^x - 1) errs by some ulp of the exponential and
 * by the rounding of its argument (x log2 e in fast versions, u|x| relative), by one rounding of a difference of at
 * most 1, and by one of the product: M = |alpha| (1 + e^x (2 + |x|)). Near zero that is absolute: e^x - 1 loses digits
 * there by definition of the formula, and versions that keep them (expm1) are only better.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : x_(p.in("input")), alpha_(p.scalar(3)) {}

  cm::Ref at(int, int64_t i) const {
    const double x = x_[i];
    if (x >= 0) return {x, 0.0, 1.0};
    return {alpha_ * std::expm1(x), std::fabs(alpha_) * (1 + std::exp(x) * (2 - x)), 1.0};
  }

 private:
  cm::View x_;
  double alpha_;
};

}  // namespace task
