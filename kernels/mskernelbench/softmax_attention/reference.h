// Reference of softmax_attention: scores, weights and their products with V in double, in groups of rows of Q.
#pragma once

#include "products.h"

namespace task {

/**
 * Scale (n = 1). With r = sum of w_j v_j, weights that each err by a relative delta move r by delta D,
 * D = sqrt(r^2 + sum of (w_j v_j)^2), and so does the rounding of that sum. In units of u, delta is made of: the sum and the
 * normalisation over kv_seq_len terms (its square root), some ulp of exponential and division (4), the rounding of the
 * exponent's argument (the largest |score|), and the rounding of a score, itself a sum of dim_qk terms: sqrt(dim_qk) times its
 * own scale, as a root mean square over the row. In bf16 the weights may be rounded to bf16 before they are multiplied with V:
 * independent errors of up to 2^16 u each, of 2^15 u as a root mean square, which add sqrt(sum of (w_j v_j)^2) times that.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : rows_(p.dim("q_seq_len")), keys_(p.dim("kv_seq_len")), dqk_(p.dim("dim_qk")), dv_(p.dim("dim_v")),
        operand_(p.elem("V") == cm::Storage::bf16 ? 0x1p15 : 0), q_(p.in("Q")), k_(p.in("K")), v_(p.in("V")) {}

  cm::Ref at(int, int64_t i) const {
    const Group g = weights(i / dv_, 1);
    const float* v = v_.data();
    cm::Sum sum;
    double squares = 0;
    for (int64_t j = 0; j < keys_; j++) {
      const double term = g.weights[size_t(j)] * double(v[j * dv_ + i % dv_]);
      sum.add(term);
      squares += term * term;
    }
    return result(sum.value(), squares, g.ulps[0]);
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    blocks_.copy(first, count, rows_ * dv_, out, [this](int64_t begin, int64_t size, cm::Ref* refs) { block(begin, size, refs); });
  }

 private:
  static constexpr int64_t kGroup = 64;

  /** Weights of some rows, and what an error of theirs amounts to in units of u. */
  struct Group {
    std::vector<double> weights, ulps;
  };

  Group weights(int64_t first, int64_t count) const {
    const float* k = k_.data();
    const double inverse = 1 / std::sqrt(double(dqk_));
    Group g{std::vector<double>(size_t(count * keys_)), std::vector<double>(static_cast<size_t>(count))};
    std::vector<double> squares(g.weights.size());  // of the scores' scales
    const auto row = [&](int64_t r, double* to) {
      for (int64_t d = 0; d < dqk_; d++) to[d] = q_[r * dqk_ + d];
    };
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t j = 0; j < width; j++)
        for (int64_t d = 0; d < dqk_; d++) to[d * cm::kLanes + j] = k[(c + j) * dqk_ + d];
    };
    cm::productRows(first, count, keys_, dqk_, row, panel, [&](int64_t r, int64_t c, double sum, double square) {
      const size_t i = size_t((r - first) * keys_ + c);
      g.weights[i] = sum * inverse;
      squares[i] = (sum * sum + square) * inverse * inverse;
    });
    cm::parallelFor(count, [&](int64_t r) { g.ulps[size_t(r)] = normalise(&g.weights[size_t(r * keys_)], &squares[size_t(r * keys_)]); });
    return g;
  }

  /** Turns a row of scores into weights. */
  double normalise(double* s, const double* squares) const {
    double maximum = s[0], largest = 0;
    cm::Sum square, sum;
    for (int64_t j = 0; j < keys_; j++) {
      maximum = std::max(maximum, s[j]);
      largest = std::max(largest, std::fabs(s[j]));
      square.add(squares[j]);
    }
    for (int64_t j = 0; j < keys_; j++) sum.add(s[j] = std::exp(s[j] - maximum));
    for (int64_t j = 0; j < keys_; j++) s[j] /= sum.value();
    const double scoreUlps = std::sqrt(double(dqk_) * square.value() / double(keys_));
    return std::sqrt(double(keys_)) + 4 + largest + scoreUlps;
  }

  cm::Ref result(double sum, double squares, double ulps) const {
    return {sum, std::sqrt(sum * sum + squares) * ulps + std::sqrt(squares) * operand_, 1.0};
  }

  void block(int64_t first, int64_t count, cm::Ref* out) const {
    const float* v = v_.data();
    const auto panel = [&](int64_t c, int64_t width, double* to) {
      for (int64_t j = 0; j < keys_; j++) std::copy_n(v + j * dv_ + c, width, to + j * cm::kLanes);
    };
    const int64_t end = (first + count - 1) / dv_ + 1;
    for (int64_t r0 = first / dv_; r0 < end; r0 += kGroup) {
      const int64_t n = std::min(kGroup, end - r0);
      const Group g = weights(r0, n);
      const auto row = [&](int64_t r, double* to) { std::copy_n(&g.weights[size_t((r - r0) * keys_)], keys_, to); };
      cm::productRows(r0, n, dv_, keys_, row, panel, [&](int64_t r, int64_t c, double sum, double squares) {
        const int64_t i = r * dv_ + c - first;
        if (i >= 0 && i < count) out[i] = result(sum, squares, g.ulps[size_t(r - r0)]);
      });
    }
  }

  int64_t rows_, keys_, dqk_, dv_;
  double operand_;
  cm::View q_;
  cm::LazyFloats k_, v_;
  cm::Blocks blocks_;
};

}  // namespace task
