// Reference of stencil_2d, in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1): the magnitudes that are added, |c| + |r| (sum of the neighbours' magnitudes + 4 |c|); every rounding is at
 * most u times that. Boundary cells are copies: scale 0.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : nx_(p.dim("nx")), ny_(p.dim("ny")), r_(p.scalar(2)), u_(p.in("u_old")) {}

  cm::Ref at(int, int64_t at) const {
    const int64_t i = at / ny_, j = at % ny_;
    const double c = u_[at];
    if (i == 0 || i == nx_ - 1 || j == 0 || j == ny_ - 1) return {c, 0.0, 1.0};
    double sum = 0, magnitude = 4 * std::fabs(c);
    for (const int64_t step : {-ny_, ny_, int64_t(-1), int64_t(1)}) {
      const double v = u_[at + step];
      sum += v;
      magnitude += std::fabs(v);
    }
    return {c + r_ * (sum - 4 * c), std::fabs(c) + std::fabs(r_) * magnitude, 1.0};
  }

 private:
  int64_t nx_, ny_;
  double r_;
  cm::View u_;
};

}  // namespace task
