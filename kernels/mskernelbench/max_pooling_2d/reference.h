// Reference of max_pooling_2d: a maximum is one of its operands, so the result is exact.
#pragma once

#include "reference_api.h"

namespace task {

struct Reference {
  explicit Reference(const cm::Problem& p)
      : h_(p.dim("H")), w_(p.dim("W")), size_(p.dim("kernel_size")), stride_(p.dim("stride")), padding_(p.dim("padding")),
        outH_((h_ + 2 * padding_ - size_) / stride_ + 1), outW_((w_ + 2 * padding_ - size_) / stride_ + 1), in_(p.in("input")) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t plane = i / (outH_ * outW_), row = i / outW_ % outH_, column = i % outW_;
    const int64_t top = row * stride_ - padding_, left = column * stride_ - padding_;
    double maximum = -INFINITY;
    for (int64_t h = std::max<int64_t>(0, top); h < std::min(h_, top + size_); h++)
      for (int64_t w = std::max<int64_t>(0, left); w < std::min(w_, left + size_); w++)
        maximum = std::max(maximum, in_[(plane * h_ + h) * w_ + w]);
    return {maximum, 0.0, 1.0};
  }

 private:
  int64_t h_, w_, size_, stride_, padding_, outH_, outW_;
  cm::View in_;
};

}  // namespace task
