// Reference of batch_norm: statistics of each feature in two compensated passes, results in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1), with m and v the mean and variance of the feature, s = sqrt(v + epsilon), k = sqrt(N) / 4. A sum of N
 * terms of one sign, added one after the other, errs by about u k relative, less in any other order. So the mean errs
 * by u k |m|, and by less than u sqrt(v) from partial sums that wander around 0; the variance, taken from deviations,
 * by u k relative, half of which reaches the result; the difference x - m, or x/s - m/s where the mean is folded into
 * the shift, by u(|x| + |m|); the rest by some ulp: M = |gamma| (|x - m| (4 + k/2) + |m| (2 + k) + sqrt(v)) / s +
 * |beta|. E[x^2] - m^2 in fp32 errs by u m^2 in the variance, which is within this where m is about as large as
 * sqrt(v), and far beyond where m is much larger.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : rows_(p.dim("N")),
        columns_(p.dim("C")),
        x_(p.in("input")),
        gamma_(p.in("gamma")),
        beta_(p.in("beta")),
        features_(size_t(columns_)) {
    const double epsilon = p.scalar(4);
    cm::parallelFor(columns_, [&](int64_t c) { features_[size_t(c)] = feature(c, epsilon); });
  }

  cm::Ref at(int, int64_t i) const {
    const int64_t c = i % columns_;
    const Feature& f = features_[size_t(c)];
    const double deviation = x_[i] - f.mean, gamma = gamma_[c], beta = beta_[c];
    const double k = std::sqrt(double(rows_)) / 4;
    const double spread = std::fabs(deviation) * (4 + k / 2) + std::fabs(f.mean) * (2 + k) + f.deviation;
    return {gamma * deviation * f.inverse + beta, std::fabs(gamma) * spread * f.inverse + std::fabs(beta), 1.0};
  }

 private:
  struct Feature {
    double mean, deviation, inverse;
  };

  Feature feature(int64_t c, double epsilon) const {
    cm::Sum sum, squares;
    for (int64_t r = 0; r < rows_; r++) sum.add(x_[r * columns_ + c]);
    const double mean = sum.value() / double(rows_);
    for (int64_t r = 0; r < rows_; r++) {
      const double d = x_[r * columns_ + c] - mean;
      squares.add(d * d);
    }
    const double variance = squares.value() / double(rows_);
    return {mean, std::sqrt(variance), 1 / std::sqrt(variance + epsilon)};
  }

  int64_t rows_, columns_;
  cm::View x_, gamma_, beta_;
  std::vector<Feature> features_;
};

}  // namespace task
