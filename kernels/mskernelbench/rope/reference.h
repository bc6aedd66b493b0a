// Reference of rope: powers, angles, cosines and sines in double.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale (n = 1): length of the pair times 1 + |angle| (1 + e ln base), where e = 2p/D is the frequency's exponent. A rounding
 * of the exponent is worth e ln base roundings of the frequency, the frequency's and the angle's own move the angle by
 * u |angle| each, and a result moves with the angle by at most the pair's length.
 */
struct Reference {
  explicit Reference(const cm::Problem& p) : d_(p.dim("D")), base_(p.scalar(4)), in_(p.in("input")) {}

  cm::Ref at(int, int64_t i) const { return element(rotation(i / 2), i); }

  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    Rotation r{};
    int64_t current = -1;
    for (int64_t i = first; i < first + count; i++) {
      if (i / 2 != current) r = rotation(current = i / 2);
      out[i - first] = element(r, i);
    }
  }

 private:
  struct Rotation {
    double first, second, cosine, sine, scale;
  };

  Rotation rotation(int64_t pair) const {
    const int64_t position = pair / (d_ / 2), p = pair % (d_ / 2);
    const double exponent = 2.0 * double(p) / double(d_), angle = double(position) * std::pow(base_, -exponent);
    const double first = in_[2 * pair], second = in_[2 * pair + 1];
    const double sensitivity = 1 + std::fabs(exponent * std::log(base_));
    return {first, second, std::cos(angle), std::sin(angle), std::hypot(first, second) * (1 + std::fabs(angle) * sensitivity)};
  }

  static cm::Ref element(const Rotation& r, int64_t i) {
    const double value = i % 2 == 0 ? r.first * r.cosine - r.second * r.sine : r.first * r.sine + r.second * r.cosine;
    return {value, r.scale, 1.0};
  }

  int64_t d_;
  double base_;
  cm::View in_;
};

}  // namespace task
