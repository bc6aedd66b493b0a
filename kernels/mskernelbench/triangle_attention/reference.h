// Reference of triangle_attention: scores, exponentials and sums in double, all features of a position together.
#pragma once

#include "products.h"

namespace task {

/**
 * Scale (n = 1). With r = sum of w_j v_j over the m positions that count, weights that each err by a relative delta move r by
 * delta D, D = sqrt(r^2 + sum of (w_j v_j)^2). In units of u, delta is made of: sum and normalisation over m terms (its square
 * root), some ulp of exponential, division and products (4), and the roundings of score and exponent's argument (the largest
 * |score|). Where nothing counts the result is 0, exactly. Weights below 2^-126 may be flushed to zero, as fast-math does.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : heads_(p.dim("head_num")), length_(p.dim("seq_length")), dim_(p.dim("head_dim")), q_(p.in("query")),
        mask_(p.in("attention_mask")), k_(p.in("key")), v_(p.in("value")) {}

  cm::Ref at(int, int64_t i) const {
    cm::Ref r;
    part(i, 1, &r);
    return r;
  }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    while (count > 0) {
      const int64_t n = std::min(count, dim_ - first % dim_);
      part(first, n, out);
      first += n, count -= n, out += n;
    }
  }

 private:
  /** Running sums of one feature. */
  struct Feature {
    double q = 0, maximum = -INFINITY, largest = 0, sum = 0, products = 0, squares = 0;
  };

  /** Results first … first + n - 1, all of one position. */
  void part(int64_t first, int64_t n, cm::Ref* out) const {
    const float *k = k_.data(), *v = v_.data();
    const int64_t position = first / dim_ % length_, batch = first / dim_ / length_ / heads_;
    const int64_t begin = first - position * dim_;  // the same features at position 0
    std::vector<int64_t> counted;
    for (int64_t j = 0; j <= position; j++)
      if (!(mask_[(batch * length_ + position) * length_ + j] > 0.5)) counted.push_back(j);
    const double root = std::sqrt(double(dim_));
    std::vector<Feature> features(static_cast<size_t>(n));
    for (int64_t d = 0; d < n; d++) features[size_t(d)].q = q_[first + d];
    for (const int64_t j : counted)
      for (int64_t d = 0; d < n; d++) {
        Feature& f = features[size_t(d)];
        const double s = f.q * double(k[begin + j * dim_ + d]) / root;
        f.maximum = std::max(f.maximum, s);
        f.largest = std::max(f.largest, std::fabs(s));
      }
    for (const int64_t j : counted)
      for (int64_t d = 0; d < n; d++) {
        Feature& f = features[size_t(d)];
        const double e = std::exp(f.q * double(k[begin + j * dim_ + d]) / root - f.maximum);
        const double product = e * double(v[begin + j * dim_ + d]);
        f.sum += e;
        f.products += product;
        f.squares += product * product;
      }
    for (int64_t d = 0; d < n; d++) out[d] = result(features[size_t(d)], counted.size());
  }

  static cm::Ref result(const Feature& f, size_t counted) {
    if (counted == 0) return {0.0, 0.0, 1.0};
    const double ulps = std::sqrt(double(counted)) + 4 + f.largest;
    const cm::Ref r = cm::dotRef(f.products / f.sum, f.squares / (f.sum * f.sum), int64_t(counted));
    return {r.value, r.scale * ulps + 0x1p-102, 1.0};
  }

  int64_t heads_, length_, dim_;
  cm::View q_, mask_;
  cm::LazyFloats k_, v_;
};

}  // namespace task
