// References of reductions to one number: terms in double, compensated sums, and the error that fp32 summations may have.
#pragma once

#include <algorithm>
#include <type_traits>
#include <vector>

#include "reference_api.h"

namespace cm {

/** A term, and the magnitude that its rounding errors go by (its own, or that of what it is computed from). */
struct Term {
  double value, magnitude;
};

struct Total {
  /** Sum of the terms, and of the squares of their magnitudes. */
  double sum = 0, squares = 0;
  /** What a chain of fp32 additions loses on these terms. */
  double chainError = 0;
};

namespace detail {

/** Threads of the naive kernels: each adds its terms, then one after the other adds its sum to the result. */
constexpr int64_t kChain = 1 << 18;

/** Orders in which the threads' sums are added: as they are, backwards, and shuffled. */
constexpr int kOrders = 8;

inline double chain(const std::vector<float>& sums, int order) {
  const int64_t n = int64_t(sums.size());
  const Shuffle shuffle(uint64_t(order), n);
  float s = 0;
  for (int64_t i = 0; i < n; i++) s += sums[size_t(order == 0 ? i : order == 1 ? n - 1 - i : shuffle.to(i))];
  return double(s);
}

/** Largest error of the chains over the threads' sums, in all orders. */
inline double chainError(const std::vector<float>& sums, double exact) {
  double errors[kOrders];
  parallelChunks(kOrders, 1, [&](int64_t order, int64_t, int64_t) { errors[order] = std::fabs(chain(sums, int(order)) - exact); });
  return *std::max_element(errors, errors + kOrders);
}

}  // namespace detail

/**
 * Adds term(i), i = 0 … n - 1: a double, or a Term. Beside the exact sum, the longest chains of fp32 additions that any GPU version
 * uses are carried out in eight orders: where small terms vanish beside a large sum, or equal ones are rounded the same way each time,
 * their errors do not average out, and no formula tells by how much.
 */
template <class Of>
Total total(int64_t n, const Of& term) {
  const int64_t threads = std::min(n, detail::kChain), grain = 512;
  std::vector<Total> parts(size_t((threads + grain - 1) / grain));
  std::vector<float> floats(size_t(threads), 0.0f);
  parallelChunks(threads, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
    Sum sum;
    double squares = 0;
    for (int64_t base = 0; base < n; base += threads)
      for (int64_t t = begin; t < std::min(end, n - base); t++) {
        double value, magnitude;
        if constexpr (std::is_same_v<decltype(term(t)), Term>) {
          const Term both = term(base + t);
          value = both.value, magnitude = both.magnitude;
        } else {
          value = magnitude = term(base + t);
        }
        sum.add(value);
        squares += magnitude * magnitude;
        floats[size_t(t)] += float(value);
      }
    parts[size_t(chunk)] = {sum.value(), squares, 0};
  });
  Sum sum, squares;
  for (const Total& part : parts) sum.add(part.sum), squares.add(part.squares);
  Total out{sum.value(), squares.value(), 0};
  out.chainError = detail::chainError(floats, out.sum);
  return out;
}

/**
 * Reference of factor * sum. Scale: in a randomly ordered fp32 summation partial sum number k is about (k/n) r plus a random walk of
 * the terms, so its root mean square is at most M = sqrt(r^2 + sum of squared magnitudes); an order that is any good keeps its chains
 * below 2^12 additions, and 16 more stand for the roundings of the terms and of the factor, which decide short sums. The error of
 * naive chains comes on top.
 */
inline Ref sumRef(const Total& t, int64_t n, double factor) {
  const double count = double(std::min<int64_t>(n, 1 << 12) + 16);
  const double chains = t.chainError / (0x1p-24 * std::sqrt(count));
  return {factor * t.sum, std::fabs(factor) * (std::sqrt(t.sum * t.sum + t.squares) + chains), count};
}

}  // namespace cm
