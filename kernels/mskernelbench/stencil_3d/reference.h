// Reference of stencil_3d, in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1): the magnitudes that are added, |c| + |r| (sum of the neighbours' magnitudes + 6 |c|); every rounding is at
 * most u times that. Boundary cells are copies: scale 0.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : nx_(p.dim("nx")), ny_(p.dim("ny")), nz_(p.dim("nz")), r_(p.scalar(2)), u_(p.in("u_old")) {}

  cm::Ref at(int, int64_t at) const {
    const int64_t plane = ny_ * nz_, i = at / plane, j = at / nz_ % ny_, k = at % nz_;
    const double c = u_[at];
    if (i == 0 || i == nx_ - 1 || j == 0 || j == ny_ - 1 || k == 0 || k == nz_ - 1) return {c, 0.0, 1.0};
    double sum = 0, magnitude = 6 * std::fabs(c);
    for (const int64_t step : {-plane, plane, -nz_, nz_, int64_t(-1), int64_t(1)}) {
      const double v = u_[at + step];
      sum += v;
      magnitude += std::fabs(v);
    }
    return {c + r_ * (sum - 6 * c), std::fabs(c) + std::fabs(r_) * magnitude, 1.0};
  }

 private:
  int64_t nx_, ny_, nz_;
  double r_;
  cm::View u_;
};

}  // namespace task
