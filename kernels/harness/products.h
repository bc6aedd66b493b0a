// Sums of products for references: dot products in double together with the sums of squared terms that their scales need,
// sixteen results at a time on packed panels, and blocks of results that are computed whole.
#pragma once

#include <atomic>
#include <mutex>

#include "reference_api.h"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
/** One version per instruction set, chosen when the program starts: judges run on machines they were not built on. */
#define CM_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define CM_CLONES
#endif

namespace cm {

/** Results that are computed side by side. */
constexpr int kLanes = 16;

/** Running sums of kLanes neighbouring results: of the terms, and of their squares. */
struct Lanes {
  double sum[kLanes] = {};
  double squares[kLanes] = {};
};

namespace detail {
/** Four doubles: a width that compilers turn into good code for every instruction set in CM_CLONES (wider ones are spilled). */
typedef double Wide __attribute__((vector_size(32), aligned(8), may_alias));
}  // namespace detail

/**
 * Adds the terms a[k] * b[k * stride + j], k = 0 … n - 1, to sum j. Products of two floats are exact in double, so the
 * instruction set does not change the result.
 */
[[maybe_unused]] CM_CLONES static void accumulate(const double* a, const double* b, int64_t n, int64_t stride, Lanes& lanes) {
  using detail::Wide;
  Wide* const sums = reinterpret_cast<Wide*>(lanes.sum);
  Wide* const squares = reinterpret_cast<Wide*>(lanes.squares);
  Wide s0 = sums[0], s1 = sums[1], s2 = sums[2], s3 = sums[3];
  Wide q0 = squares[0], q1 = squares[1], q2 = squares[2], q3 = squares[3];
  for (int64_t k = 0; k < n; k++) {
    const Wide* row = reinterpret_cast<const Wide*>(b + k * stride);
    const Wide t0 = row[0] * a[k], t1 = row[1] * a[k], t2 = row[2] * a[k], t3 = row[3] * a[k];
    s0 += t0, s1 += t1, s2 += t2, s3 += t3;
    q0 += t0 * t0, q1 += t1 * t1, q2 += t2 * t2, q3 += t3 * t3;
  }
  sums[0] = s0, sums[1] = s1, sums[2] = s2, sums[3] = s3;
  squares[0] = q0, squares[1] = q1, squares[2] = q2, squares[3] = q3;
}

/**
 * Scale of a sum of n terms: in a randomly ordered fp32 summation partial sum number k is about (k/n) r plus a random walk
 * whose steps are the terms, so its root mean square is at most M = sqrt(r^2 + sum of squared terms).
 */
inline Ref dotRef(double sum, double squares, int64_t n) { return {sum, std::sqrt(sum * sum + squares), double(n)}; }

/** Dot product of terms(k) = {a, b}, k = 0 … n - 1, with compensated sums. */
template <class Terms>
Ref dot(int64_t n, const Terms& terms) {
  Sum sum;
  double squares = 0;
  for (int64_t k = 0; k < n; k++) {
    const double t = terms(k);
    sum.add(t);
    squares += t * t;
  }
  return dotRef(sum.value(), squares, n);
}

/** An input buffer made as floats (exact for f32 and bf16) when it is first needed. */
class LazyFloats {
 public:
  explicit LazyFloats(const View& view) : view_(view) {}
  const float* data() const {
    std::call_once(once_, [&] { values_ = floats(view_); });
    return values_.data();
  }

 private:
  View view_;
  mutable std::once_flag once_;
  mutable std::vector<float> values_;
};

/**
 * Rows [row, row + rows) of a product with `columns` columns and `terms` terms a result.
 * rowOf(r, double* out): the `terms` left factors of row r. panelOf(c, width, double* out): the right factors of columns
 * c … c + width - 1, width <= kLanes, as out[k * kLanes + j]; further lanes stay as they are (zero at first).
 * store(r, c, sum, squares) takes the results; it is called from several threads, never twice for one result.
 */
template <class RowOf, class PanelOf, class Store>
void productRows(int64_t row, int64_t rows, int64_t columns, int64_t terms, const RowOf& rowOf, const PanelOf& panelOf,
                 const Store& store) {
  constexpr int64_t kGroup = 64;   // rows that share one packing of a panel
  constexpr int64_t kDepth = 512;  // terms of a panel that stay in a core's cache
  std::vector<double> left;
  for (int64_t r0 = row; r0 < row + rows; r0 += kGroup) {
    const int64_t n = std::min(kGroup, row + rows - r0);
    left.resize(size_t(n * terms));
    parallelFor(n, [&](int64_t i) { rowOf(r0 + i, left.data() + i * terms); });
    parallelFor((columns + kLanes - 1) / kLanes, [&](int64_t begin, int64_t end) {
      std::vector<double> panel(size_t(terms * kLanes));
      for (int64_t p = begin; p < end; p++) {
        const int64_t c = p * kLanes, width = std::min<int64_t>(kLanes, columns - c);
        panelOf(c, width, panel.data());
        std::vector<Lanes> lanes(static_cast<size_t>(n));
        for (int64_t k = 0; k < terms; k += kDepth)
          for (int64_t i = 0; i < n; i++)
            accumulate(left.data() + i * terms + k, panel.data() + k * kLanes, std::min(kDepth, terms - k), kLanes, lanes[size_t(i)]);
        for (int64_t i = 0; i < n; i++)
          for (int64_t j = 0; j < width; j++) store(r0 + i, c + j, lanes[size_t(i)].sum[j], lanes[size_t(i)].squares[j]);
      }
    });
  }
}

/**
 * Results in blocks of 65536 (what the judge gives a thread at a time), each computed whole when one of it is asked for,
 * since neighbours share work. Every thread keeps its last block.
 */
class Blocks {
 public:
  static constexpr int64_t kBlock = 1 << 16;

  /** compute(first, count, Ref* out) makes one block. */
  template <class Compute>
  void copy(int64_t first, int64_t count, int64_t total, Ref* out, const Compute& compute) const {
    struct Kept {
      uint64_t owner = 0;
      int64_t block = -1;
      std::vector<Ref> refs;
    };
    static thread_local Kept kept;
    while (count > 0) {
      const int64_t block = first / kBlock, begin = block * kBlock, size = std::min(kBlock, total - begin);
      if (kept.owner != id_ || kept.block != block) {
        kept.owner = 0;  // nothing is kept if compute throws
        kept.refs.assign(size_t(size), Ref());
        compute(begin, size, kept.refs.data());
        kept.owner = id_, kept.block = block;
      }
      const int64_t n = std::min(count, begin + size - first);
      std::copy_n(kept.refs.begin() + (first - begin), n, out);
      first += n, count -= n, out += n;
    }
  }

 private:
  static uint64_t next() {
    static std::atomic<uint64_t> counter{0};
    return ++counter;
  }
  uint64_t id_ = next();
};

/** Results first … first + count - 1 (row-major) of a product, as a block of Blocks; arguments as in productRows. */
template <class RowOf, class PanelOf>
void productBlock(int64_t first, int64_t count, int64_t columns, int64_t terms, const RowOf& rowOf, const PanelOf& panelOf,
                  Ref* out) {
  const int64_t row = first / columns, last = (first + count - 1) / columns;
  productRows(row, last - row + 1, columns, terms, rowOf, panelOf, [&](int64_t r, int64_t c, double sum, double squares) {
    const int64_t i = r * columns + c - first;
    if (i >= 0 && i < count) out[i] = dotRef(sum, squares, terms);
  });
}

}  // namespace cm
