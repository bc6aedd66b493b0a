// Reference of layer_norm: mean and variance in two compensated passes, results in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1), with m and v the mean and variance, s = sqrt(v + epsilon), k = sqrt(min(N, 2^12)) / 4: the origin adds
 * 1024 partial sums one after the other, and no useful GPU version more than some thousand. A sum of N terms of one
 * sign, added one after the other, errs by about u k relative, less in any other order. So the mean errs by u k |m|,
 * and by less than u sqrt(v) from partial sums that wander around 0; the variance, taken from deviations, by u k
 * relative, half of which reaches the result; the difference x - m, or x/s - m/s where the mean is folded into the
 * shift, by u(|x| + |m|); the rest by some ulp: M = |w| (|x - m| (4 + k/2) + |m| (2 + k) + sqrt(v)) / s + |b|. E[x^2] -
 * m^2 in fp32 errs by u m^2 in the variance, which is within this where m is about as large as sqrt(v), and far beyond
 * where m is much larger.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : count_(p.dim("N")), x_(p.in("input")), weight_(p.in("weight")), bias_(p.in("bias")) {
    mean_ = sumOf([](double x) { return x; }) / double(count_);
    const double mean = mean_;
    const double variance = sumOf([mean](double x) { return (x - mean) * (x - mean); }) / double(count_);
    deviation_ = std::sqrt(variance);
    inverse_ = 1 / std::sqrt(variance + p.scalar(4));
    k_ = std::sqrt(double(std::min<int64_t>(count_, 1 << 12))) / 4;
  }

  cm::Ref at(int, int64_t i) const {
    const double d = x_[i] - mean_, weight = weight_[i], bias = bias_[i];
    const double spread = std::fabs(d) * (4 + k_ / 2) + std::fabs(mean_) * (2 + k_) + deviation_;
    return {weight * d * inverse_ + bias, std::fabs(weight) * spread * inverse_ + std::fabs(bias), 1.0};
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
  double mean_ = 0, deviation_ = 0, inverse_ = 0, k_ = 0;
};

}  // namespace task
