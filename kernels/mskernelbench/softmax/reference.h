// Reference of softmax: maximum exact, exponentials in double, sums compensated.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (with n = 1). A correct fp32 version errs, relative to the result r, by some ulp of its exponential and division,
 * by the rounding of the argument (x - m, or x log2 e - m log2 e in one fused step: u(|x| + |m|) at most), and by the sum
 * of C positive terms: u sqrt(C)/4 for the worst order, one after the other. Hence M = r (4 + |x| + |m| + sqrt(C)/4).
 * Below 2^-126 results may be flushed to zero, as fast-math does; 2^-102 u is that much.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : columns_(p.dim("C")), in_(p.in("input")) {}

  cm::Ref at(int, int64_t i) const { return element(row(i / columns_), i); }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    int64_t current = -1;
    Row r;
    for (int64_t i = first; i < first + count; i++) {
      if (i / columns_ != current) r = row(current = i / columns_);
      out[i - first] = element(r, i);
    }
  }

 private:
  struct Row {
    double maximum, sum;
  };

  Row row(int64_t index) const {
    const int64_t begin = index * columns_, end = begin + columns_;
    double maximum = in_[begin];
    for (int64_t i = begin + 1; i < end; i++) maximum = std::max(maximum, in_[i]);
    cm::Sum sum;
    for (int64_t i = begin; i < end; i++) sum.add(std::exp(in_[i] - maximum));
    return {maximum, sum.value()};
  }

  cm::Ref element(const Row& r, int64_t i) const {
    const double x = in_[i];
    const double value = std::exp(x - r.maximum) / r.sum;
    const double ulps = 4 + std::fabs(x) + std::fabs(r.maximum) + std::sqrt(double(columns_)) / 4;
    return {value, value * ulps + 0x1p-102, 1.0};
  }

  int64_t columns_;
  cm::View in_;
};

}  // namespace task
