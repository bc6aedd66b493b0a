// Reference of simpson_int: weighted samples in double, compensated sum.
#pragma once

#include "sums.h"

namespace task {

struct Reference {
  explicit Reference(const cm::Problem& p) {
    const int64_t n = p.dim("N");
    const cm::View y = p.in("y_samples");
    cm::Total sum = cm::total(n, [&](int64_t i) { return weight(i, n) * y[i]; });
    // Versions that add pairs of intervals have other terms, and their chains other errors.
    const cm::Total pairs = cm::total(n / 2, [&](int64_t i) {
      const int64_t k = 2 * i;
      return k + 2 < n ? y[k] + 4 * y[k + 1] + y[k + 2] : (5 * y[n - 1] + 8 * y[n - 2] - y[n - 3]) / 4;
    });
    sum.chainError = std::max(sum.chainError, pairs.chainError);
    const double h = (p.scalar(3) - p.scalar(2)) / double(n - 1);
    ref_ = cm::sumRef(sum, n, h / 3);
  }

  cm::Ref at(int, int64_t) const { return ref_; }

 private:
  /**
   * Weight of sample i of n in units of h/3. Pairs of intervals: 1 4 1 each. If the number of intervals is odd, the last one takes
   * the integral of the parabola through the last three samples, h (5 y[n-1] + 8 y[n-2] - y[n-3]) / 12.
   */
  static double weight(int64_t i, int64_t n) {
    const bool odd = (n - 1) % 2 != 0;
    const int64_t end = odd ? n - 2 : n - 1;
    double w = 0;
    if (i <= end) w = i == 0 || i == end ? 1 : i % 2 == 1 ? 4 : 2;
    if (odd && i == n - 1) w += 5.0 / 4;
    if (odd && i == n - 2) w += 8.0 / 4;
    if (odd && i == n - 3) w -= 1.0 / 4;
    return w;
  }

  cm::Ref ref_;
};

}  // namespace task
