// Reference of cross_entropy_loss: logarithms in double, compensated sum.
#pragma once

#include "sums.h"

namespace task {

/**
 * A logarithm errs by some ulp of itself, and by some u near zero, where fast ones have an absolute error only: the magnitude of
 * a term is |Y| (|ln X| + 1).
 */
struct Reference {
  explicit Reference(const cm::Problem& p) {
    const int64_t n = p.dim("C");
    const cm::View x = p.in("X"), y = p.in("Y");
    const cm::Total sum = cm::total(n, [&](int64_t i) {
      const double logarithm = std::log(std::max(x[i], 1e-8)), weight = y[i];
      return cm::Term{-weight * logarithm, std::fabs(weight) * (std::fabs(logarithm) + 1)};
    });
    ref_ = cm::sumRef(sum, n, 1.0);
  }

  cm::Ref at(int, int64_t) const { return ref_; }

 private:
  cm::Ref ref_;
};

}  // namespace task
