// Reference of merge_attn_states: exponentials and logarithms in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scales (n = 1). A version errs by some ulp of its exponential, division and products, and by the rounding of the exponent's
 * argument (difference of the two, or each times log2 e in a fused step: u (|a| + |b|) at most), all relative to the weighted
 * terms: (w_a |v_a| + w_b |v_b|) (4 + |a| + |b|). The logarithm errs by some u of 1, and by the same roundings: 4 + |a| + |b|.
 * Weights below 2^-126 may be flushed to zero, as fast-math does.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : tokens_(p.dim("num_tokens")), heads_(p.dim("num_heads")), size_(p.dim("head_size")), va_(p.in("V_a")), vb_(p.in("V_b")),
        lseA_(p.in("lse_a")), lseB_(p.in("lse_b")) {}

  cm::Ref at(int output, int64_t i) const {
    if (output == 1) {
      const Weights w = weights(i);
      return {w.lse, w.ulps, 1.0};
    }
    return element(weights(indexOf(i / size_)), i);
  }

  void all(int output, int64_t first, int64_t count, cm::Ref* out) const {
    Weights w{};
    int64_t current = -1;
    for (int64_t i = first; i < first + count; i++) {
      if (output == 1) {
        out[i - first] = at(1, i);
        continue;
      }
      if (i / size_ != current) w = weights(indexOf(current = i / size_));
      out[i - first] = element(w, i);
    }
  }

 private:
  struct Weights {
    double a, b, lse, ulps;
  };

  /** Place of a (token, head) pair in the arrays of log-sum-exps, which run over [head][token]. */
  int64_t indexOf(int64_t pair) const { return pair % heads_ * tokens_ + pair / heads_; }

  Weights weights(int64_t index) const {
    const double a = lseA_[index], b = lseB_[index], maximum = std::max(a, b);
    const double expA = std::exp(a - maximum), expB = std::exp(b - maximum), sum = expA + expB;
    return {expA / sum, expB / sum, maximum + std::log(sum), 4 + std::fabs(a) + std::fabs(b)};
  }

  cm::Ref element(const Weights& w, int64_t i) const {
    const double a = va_[i], b = vb_[i];
    const double magnitude = w.a * std::fabs(a) + w.b * std::fabs(b);
    return {w.a * a + w.b * b, magnitude * w.ulps + 0x1p-102 * (std::fabs(a) + std::fabs(b)), 1.0};
  }

  int64_t tokens_, heads_, size_;
  cm::View va_, vb_, lseA_, lseB_;
};

}  // namespace task
