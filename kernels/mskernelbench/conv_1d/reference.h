// Reference of conv_1d: products of stored values are exact in double and are summed in double.
#pragma once

#include "products.h"

namespace task {

/** Scale: that of a dot product (cm::dotRef) with n = kernel_size terms. */
struct Reference {
  explicit Reference(const cm::Problem& p) : taps_(p.dim("kernel_size")), in_(p.in("input")), kernel_(p.in("kernel")), filter_(kernel_) {}

  cm::Ref at(int, int64_t i) const {
    return cm::dot(taps_, [&](int64_t k) { return in_[i + k] * kernel_[k]; });
  }

  /** Sixteen neighbouring results share the filter and overlap in their windows. */
  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    const std::vector<double> filter(filter_.data(), filter_.data() + taps_);
    std::vector<double> window(size_t(count + taps_ - 1 + cm::kLanes));
    for (int64_t i = 0; i < count + taps_ - 1; i++) window[size_t(i)] = in_[first + i];
    for (int64_t i = 0; i < count; i += cm::kLanes) {
      cm::Lanes lanes;
      cm::accumulate(filter.data(), window.data() + i, taps_, 1, lanes);
      for (int64_t j = 0; j < std::min<int64_t>(cm::kLanes, count - i); j++)
        out[i + j] = cm::dotRef(lanes.sum[j], lanes.squares[j], taps_);
    }
  }

 private:
  int64_t taps_;
  cm::View in_, kernel_;
  cm::LazyFloats filter_;
};

}  // namespace task
