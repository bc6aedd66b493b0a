// References of reductions to one number: terms in double, compensated sums, and the scale of an fp32 summation.
#pragma once

#include <algorithm>
#include <vector>

#include "reference_api.h"

namespace cm {

/** Sum of terms, and sum of the squares of their magnitudes. */
struct Total {
  double sum = 0, squares = 0;
};

/** A term and the magnitude that its rounding errors go by (the term itself, or what it is computed from). */
struct Term {
  double value, magnitude;
};

/** Adds term(i), i = 0 … n - 1: a double, or a Term. */
template <class Of>
Total total(int64_t n, const Of& term) {
  const int64_t grain = 1 << 16;
  std::vector<Total> parts(size_t((n + grain - 1) / grain));
  parallelChunks(n, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
    Sum sum;
    double squares = 0;
    for (int64_t i = begin; i < end; i++) {
      if constexpr (std::is_same_v<decltype(term(i)), Term>) {
        const Term t = term(i);
        sum.add(t.value);
        squares += t.magnitude * t.magnitude;
      } else {
        const double t = term(i);
        sum.add(t);
        squares += t * t;
      }
    }
    parts[size_t(chunk)] = {sum.value(), squares};
  });
  Sum sum, squares;
  for (const Total& part : parts) sum.add(part.sum), squares.add(part.squares);
  return {sum.value(), squares.value()};
}

/**
 * Reference of factor * sum. In a randomly ordered fp32 summation partial sum number k is about (k/n) r plus a random walk of the
 * terms, so its root mean square is at most M = sqrt(r^2 + sum of squared magnitudes). No useful GPU version adds more than 2^18
 * numbers one after the other, which is the length of the origins' chains of atomics; 16 more stand for the roundings of the
 * terms themselves and of the factor, which decide short sums.
 */
inline Ref sumRef(const Total& t, int64_t n, double factor) {
  return {factor * t.sum, std::fabs(factor) * std::sqrt(t.sum * t.sum + t.squares), double(std::min<int64_t>(n, 1 << 18) + 16)};
}

}  // namespace cm
