// Reference of matrix_scalar_mul: one product, exact in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. One rounding, which the stored type is allowed anyway: M = |r| is slack for a second one.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : a_(p.in("A")), scalar_(p.scalar(2)) {}

  cm::Ref at(int, int64_t i) const {
    const double value = scalar_ * a_[i];
    return {value, std::fabs(value), 1.0};
  }

 private:
  cm::View a_;
  double scalar_;
};

}  // namespace task
