// Reference of top_k: order by value (descending), then by position (ascending); +0 and -0 are equal.
#pragma once

#include <algorithm>
#include <numeric>
#include <vector>

#include "reference_api.h"

namespace task {

struct Reference {
  explicit Reference(const cm::Problem& p) : values_(cm::floats(p.in("input"))), indices_(values_.size()) {
    std::iota(indices_.begin(), indices_.end(), 0);
    const auto first = [&](int32_t a, int32_t b) {
      const float x = values_[size_t(a)], y = values_[size_t(b)];
      return x > y || (x == y && a < b);
    };
    std::partial_sort(indices_.begin(), indices_.begin() + p.dim("k"), indices_.end(), first);
  }

  /** Output 0: values, output 1: positions. */
  cm::Ref at(int output, int64_t i) const {
    const int32_t index = indices_[size_t(i)];
    return {output == 0 ? double(values_[size_t(index)]) : double(index), 0.0, 1.0};
  }

 private:
  std::vector<float> values_;
  std::vector<int32_t> indices_;
};

}  // namespace task
