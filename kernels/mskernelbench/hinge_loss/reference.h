// Reference of hinge_loss: one subtraction in double.
#pragma once

#include "reference_api.h"

namespace task {

/** 1 - y p takes one rounding to fp32 (y p is exact): M = r. Losses of zero must be zero. */
struct Reference {
  explicit Reference(const cm::Problem& p) : predictions_(p.in("predictions")), targets_(p.in("targets")) {}

  cm::Ref at(int, int64_t i) const {
    const double label = targets_.i(i) == 1 ? 1.0 : -1.0;
    const double value = std::max(0.0, 1.0 - label * predictions_[i]);
    return {value, value, 1.0};
  }

 private:
  cm::View predictions_, targets_;
};

}  // namespace task
