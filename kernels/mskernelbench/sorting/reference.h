// Reference of sorting: the numbers in ascending order. Equal to it, bit for bit, means ordered and the same numbers as before
// (+0 and -0 are equal, and may stand in any order).
#pragma once

#include <algorithm>
#include <vector>

#include "reference_api.h"

namespace task {

struct Reference {
  explicit Reference(const cm::Problem& p) : sorted_(cm::floats(p.in("data"))) {
    const size_t n = sorted_.size(), piece = size_t(1) << 16;
    cm::parallelChunks(int64_t(n), int64_t(piece), [&](int64_t, int64_t begin, int64_t end) {
      std::sort(sorted_.begin() + begin, sorted_.begin() + end);
    });
    for (size_t width = piece; width < n; width *= 2)
      cm::parallelChunks(int64_t(n), int64_t(2 * width), [&](int64_t, int64_t begin, int64_t end) {
        const int64_t middle = std::min(begin + int64_t(width), end);
        std::inplace_merge(sorted_.begin() + begin, sorted_.begin() + middle, sorted_.begin() + end);
      });
  }

  cm::Ref at(int, int64_t i) const { return {double(sorted_[size_t(i)]), 0.0, 1.0}; }

 private:
  std::vector<float> sorted_;
};

}  // namespace task
