// Reference of dot_product: products of stored values are exact in double; sums are compensated.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale. In a randomly ordered fp32 summation, partial sum number k is about (k/N) r plus a random walk whose steps are
 * the terms, so its root mean square is at most M = sqrt(r^2 + sum of squared terms). Each addition rounds its partial sum
 * by a random u/sqrt(3) at most, and n of them give about u sqrt(n) M / 2. (The sum of magnitudes, the textbook scale, is
 * sqrt(N) larger for terms of both signs, and would let half precision pass.)
 * n: no useful GPU version adds more than 2^18 numbers one after the other; the origin's chain of atomics is that long.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) {
    const int64_t n = p.dim("N");
    const cm::View x = p.in("X"), y = p.in("Y");
    const int64_t grain = 1 << 16;
    std::vector<double> sums(size_t((n + grain - 1) / grain)), squares(sums.size());
    cm::parallelChunks(n, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
      cm::Sum sum;
      double square = 0;
      for (int64_t i = begin; i < end; i++) {
        const double term = x[i] * y[i];
        sum.add(term);
        square += term * term;
      }
      sums[size_t(chunk)] = sum.value();
      squares[size_t(chunk)] = square;
    });
    cm::Sum sum, square;
    for (double s : sums) sum.add(s);
    for (double s : squares) square.add(s);
    ref_.value = sum.value();
    ref_.scale = std::sqrt(ref_.value * ref_.value + square.value());
    ref_.n = double(std::min<int64_t>(n, 1 << 18));
  }

  cm::Ref at(int, int64_t) const { return ref_; }

 private:
  cm::Ref ref_;
};

}  // namespace task
