// Reference of simpson_int: weighted samples in double, compensated sum.
#pragma once

#include "sums.h"

namespace task {

/** Weighted samples of a View, in units of h/3, and their sum with the errors of fp32 chains over samples and over pairs of intervals. */
class Samples {
 public:
  explicit Samples(const cm::View& y) : y_(y), n_(y.size()) {}

  /** Each of the two kinds of terms in a pass of its own: the definition. */
  cm::Total separate() const {
    cm::Total sum = cm::total(n_, [&](int64_t i) { return weight(i) * y_[i]; });
    // Versions that add pairs of intervals have other terms, and their chains other errors.
    const cm::Total pairs = cm::total(n_ / 2, [&](int64_t i) { return pair(i); });
    sum.chainError = std::max(sum.chainError, pairs.chainError);
    return sum;
  }

  /**
   * The same in one pass that makes each sample once instead of two and a half times, for samples that fill all chains of both kinds:
   * every chain adds the same terms in the same order. (The pairs' exact sum is that of the samples: it is the same number.)
   */
  cm::Total together() const {
    constexpr int64_t chains = cm::detail::kChain, grain = 512;
    std::vector<cm::Total> parts(size_t(chains / grain));
    std::vector<float> ofSamples(size_t(chains), 0.0f), ofPairs(size_t(chains), 0.0f);
    cm::parallelChunks(chains, grain, [&](int64_t chunk, int64_t begin, int64_t) {
      cm::Sum sum;
      double squares = 0, y[grain + 1];
      for (int64_t base = begin; base < n_; base += chains) {
        const int64_t count = std::min(grain, n_ - base), made = std::min(count + 1, n_ - base);
        for (int64_t u = 0; u < made; u++) y[u] = y_[base + u];
        float* const samples = &ofSamples[size_t(begin)];
        const bool inner = base > 0 && base + count < n_ - 3;
        for (int64_t u = 0; u < count; u++) {
          const double term = (inner ? u % 2 == 1 ? 4.0 : 2.0 : weight(base + u)) * y[u];
          sum.add(term);
          squares += term * term;
          samples[u] += float(term);
        }
        float* const pairs = &ofPairs[size_t(base / 2 % chains)];
        for (int64_t u = 0; u + 1 < count; u += 2)
          pairs[u / 2] += float(u + 2 < made ? y[u] + 4 * y[u + 1] + y[u + 2] : pair((base + u) / 2));
      }
      parts[size_t(chunk)] = {sum.value(), squares, 0};
    });
    cm::Sum sum, squares;
    for (const cm::Total& part : parts) sum.add(part.sum), squares.add(part.squares);
    const double exact = sum.value();
    return {exact, squares.value(), std::max(cm::detail::chainError(ofSamples, exact), cm::detail::chainError(ofPairs, exact))};
  }

  cm::Total total() const { return n_ / 2 >= cm::detail::kChain ? together() : separate(); }

 private:
  /**
   * Weight of sample i of n in units of h/3. Pairs of intervals: 1 4 1 each. If the number of intervals is odd, the last one takes
   * the integral of the parabola through the last three samples, h (5 y[n-1] + 8 y[n-2] - y[n-3]) / 12.
   */
  double weight(int64_t i) const {
    const bool odd = (n_ - 1) % 2 != 0;
    const int64_t end = odd ? n_ - 2 : n_ - 1;
    double w = 0;
    if (i <= end) w = i == 0 || i == end ? 1 : i % 2 == 1 ? 4 : 2;
    if (odd && i == n_ - 1) w += 5.0 / 4;
    if (odd && i == n_ - 2) w += 8.0 / 4;
    if (odd && i == n_ - 3) w -= 1.0 / 4;
    return w;
  }

  /** Pair number i of intervals; of an even number of samples the last one is the parabola's. */
  double pair(int64_t i) const {
    const int64_t k = 2 * i;
    return k + 2 < n_ ? y_[k] + 4 * y_[k + 1] + y_[k + 2] : (5 * y_[n_ - 1] + 8 * y_[n_ - 2] - y_[n_ - 3]) / 4;
  }

  cm::View y_;
  int64_t n_;
};

struct Reference {
  explicit Reference(const cm::Problem& p) {
    const Samples samples(p.in("y_samples"));
    const double h = (p.scalar(3) - p.scalar(2)) / double(p.dim("N") - 1);
    ref_ = cm::sumRef(samples.total(), p.dim("N"), h / 3);
  }

  cm::Ref at(int, int64_t) const { return ref_; }

 private:
  cm::Ref ref_;
};

}  // namespace task
