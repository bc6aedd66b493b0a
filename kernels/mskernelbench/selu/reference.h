// Reference of selu: lambda x, or lambda alpha (exp(x) - 1), in double without cancellation.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. For x >= 0 one product, whose second rounding M = |r| allows. For x < 0 the usual formula errs by some ulp of
 * the exponential and by the rounding of its argument (x log2 e in fast versions, u|x| relative), by one rounding of a
 * difference of at most 1, and by two of products: M = |lambda alpha| (1 + e^x (2 + |x|)). Near zero that is absolute:
 * e^x - 1 loses digits there by definition of the formula, and versions that keep them (expm1) are only better.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : x_(p.in("input")), alpha_(p.scalar(3)), lambda_(p.scalar(4)) {}

  cm::Ref at(int, int64_t i) const {
    const double x = x_[i];
    if (x >= 0) return {lambda_ * x, std::fabs(lambda_ * x), 1.0};
    const double both = lambda_ * alpha_;
    return {both * std::expm1(x), std::fabs(both) * (1 + std::exp(x) * (2 - x)), 1.0};
  }

 private:
  cm::View x_;
  double alpha_, lambda_;
};

}  // namespace task
