// Reference of prefix_sum: compensated sums, with the states at every 4096th element kept.
#pragma once

#include <algorithm>
#include <vector>

#include "reference_api.h"

namespace task {

/**
 * Scale. A chain of additions rounds every prefix sum s_1 … s_i on its way; scans by blocks round partial sums of the same kind. M is
 * the root mean square of s_1 … s_i, to which the root of the sum of squared terms is added (in squares) for partial sums that start
 * elsewhere; an order that is any good keeps its chains below n = 2^12 additions. The naive kernel's chain is as long as the prefix:
 * it is carried out in fp32, and the largest error that it had up to i comes on top. (Where terms share their low bits, these are
 * rounded away in the same direction each time, and no formula tells what remains.)
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : in_(p.in("input")) {
    State state;
    for (int64_t i = 0; i < in_.size(); i++) {
      if (i % kPiece == 0) starts_.push_back(state);
      state.add(in_[i]);
    }
  }

  cm::Ref at(int, int64_t i) const {
    cm::Ref out;
    walk(i, i + 1, &out);
    return out;
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    for (int64_t i = first; i < first + count;) {
      const int64_t end = std::min(first + count, (i / kPiece + 1) * kPiece);
      walk(i, end, out + (i - first));
      i = end;
    }
  }

 private:
  static constexpr int64_t kPiece = 4096;

  /** Sum of the terms so far, of their squares and of the squares of the prefix sums; the naive chain and its largest error. */
  struct State {
    cm::Sum sum;
    double squares = 0, prefixSquares = 0, chainError = 0;
    float chain = 0;

    void add(double term) {
      sum.add(term);
      squares += term * term;
      const double s = sum.value();
      prefixSquares += s * s;
      chain += float(term);
      chainError = std::max(chainError, std::fabs(double(chain) - s));
    }

    cm::Ref ref(int64_t i) const {
      const double n = double(std::min<int64_t>(i + 1, 1 << 12));
      const double scale = std::sqrt(prefixSquares / double(i + 1) + squares);
      return {sum.value(), scale + chainError / (0x1p-24 * std::sqrt(n)), n};
    }
  };

  /** Elements from … to - 1, all of one piece. */
  void walk(int64_t from, int64_t to, cm::Ref* out) const {
    State state = starts_[size_t(from / kPiece)];
    for (int64_t i = from / kPiece * kPiece; i < to; i++) {
      state.add(in_[i]);
      if (i >= from) out[i - from] = state.ref(i);
    }
  }

  cm::View in_;
  std::vector<State> starts_;
};

}  // namespace task
