// Reference of rms_norm: sum of squares compensated, results in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1), with k = sqrt(min(N, 2^12)) / 4: the origin adds 1024 partial sums one after
 * the other, and no useful GPU version more than some thousand. The sum
 * of squares, added in such an order, errs by about u k relative, half of which reaches the result; the rest is some
 * ulp of the product and the rounding of the last sum: M = |w x| (4 + k/2) / rms + |b|.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : count_(p.dim("N")), x_(p.in("input")), weight_(p.in("weight")), bias_(p.in("bias")) {
    inverse_ = 1 / std::sqrt(sumOf([](double x) { return x * x; }) / double(count_) + p.scalar(4));
    k_ = std::sqrt(double(std::min<int64_t>(count_, 1 << 12))) / 4;
  }

  cm::Ref at(int, int64_t i) const {
    const double bias = bias_[i], product = weight_[i] * x_[i] * inverse_;
    return {product + bias, std::fabs(product) * (4 + k_ / 2) + std::fabs(bias), 1.0};
  }

 private:
  /** Sum of term(i) over all elements, compensated, in parallel. */
  template <class Term>
  double sumOf(const Term& term) const {
    const int64_t grain = 1 << 16;
    std::vector<double> parts(size_t((count_ + grain - 1) / grain));
    cm::parallelChunks(count_, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
      cm::Sum sum;
      for (int64_t i = begin; i < end; i++) sum.add(term(x_[i]));
      parts[size_t(chunk)] = sum.value();
    });
    cm::Sum sum;
    for (double part : parts) sum.add(part);
    return sum.value();
  }

  int64_t count_;
  cm::View x_, weight_, bias_;
  double inverse_ = 0, k_ = 0;
};

}  // namespace task
