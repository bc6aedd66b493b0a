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
 *
 * Where all terms are multiples of some 2^q and partial sums stay below 2^24 of them, fp32 rounds nothing in any order: the
 * exact result is demanded (M = 0). That is what finds factors of fewer bits, whose errors cancel down to the limit above in
 * long sums. Partial sums in an order that does not depend on the terms walk from 0 to r; a random walk of the terms that is
 * tied to both ends leaves the straight line by more than 3 sqrt(sum of squares) once in 3 * 10^7 sums.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) {
    const int64_t n = p.dim("N");
    const cm::View x = p.in("X"), y = p.in("Y");
    const int64_t grain = 1 << 16;
    std::vector<double> sums(size_t((n + grain - 1) / grain)), squares(sums.size());
    std::vector<int> lowest(sums.size());
    cm::parallelChunks(n, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
      cm::Sum sum;
      double square = 0;
      int low = kNoBit;
      for (int64_t i = begin; i < end; i++) {
        const double term = x[i] * y[i];
        sum.add(term);
        square += term * term;
        low = std::min(low, lowestBit(term));
      }
      lowest[size_t(chunk)] = low;
      sums[size_t(chunk)] = sum.value();
      squares[size_t(chunk)] = square;
    });
    cm::Sum sum, square;
    for (double s : sums) sum.add(s);
    for (double s : squares) square.add(s);
    ref_.value = sum.value();
    const double reach = std::fabs(ref_.value) + 3 * std::sqrt(square.value());
    const bool exact = reach <= std::ldexp(1.0, 24 + *std::min_element(lowest.begin(), lowest.end()));
    ref_.scale = exact ? 0 : std::sqrt(ref_.value * ref_.value + square.value());
    ref_.n = double(std::min<int64_t>(n, 1 << 18));
  }

  cm::Ref at(int, int64_t) const { return ref_; }

 private:
  static constexpr int kNoBit = 4096;

  /** Exponent of the lowest bit of a number that is set. */
  static int lowestBit(double v) {
    const uint64_t bits = cm::bitsOfDouble(v), fraction = bits & ((1ull << 52) - 1);
    const int exponent = int((bits >> 52) & 0x7ff);
    if (exponent == 0) return kNoBit;  // zero: a product of floats is no subnormal double
    return exponent - 1023 - (fraction ? 52 - __builtin_ctzll(fraction) : 0);
  }

  cm::Ref ref_;
};

}  // namespace task
