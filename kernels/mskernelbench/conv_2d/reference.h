// Reference of conv_2d: products of stored values are exact in double and are summed in double.
#pragma once

#include "products.h"

namespace task {

/** Scale: that of a dot product (cm::dotRef) with n = kernel_rows * kernel_cols terms. */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : inCols_(p.dim("input_cols")), rows_(p.dim("kernel_rows")), cols_(p.dim("kernel_cols")), outCols_(inCols_ - cols_ + 1),
        in_(p.in("input")), kernel_(p.in("kernel")), filter_(kernel_) {}

  cm::Ref at(int, int64_t i) const {
    const int64_t row = i / outCols_, column = i % outCols_;
    return cm::dot(rows_ * cols_, [&](int64_t k) {
      return in_[(row + k / cols_) * inCols_ + column + k % cols_] * kernel_[k];
    });
  }

  /** Row by row: neighbouring results share the filter and overlap in their windows. */
  void all(int, int64_t first, int64_t count, cm::Ref* out) const {
    const std::vector<double> filter(filter_.data(), filter_.data() + rows_ * cols_);
    std::vector<double> window;
    while (count > 0) {
      const int64_t row = first / outCols_, column = first % outCols_, n = std::min(count, outCols_ - column);
      part(row, column, n, filter, window, out);
      first += n, count -= n, out += n;
    }
  }

 private:
  /** Results column … column + n - 1 of one row. */
  void part(int64_t row, int64_t column, int64_t n, const std::vector<double>& filter, std::vector<double>& window, cm::Ref* out) const {
    const int64_t width = n + cols_ - 1, pitch = width + cm::kLanes;
    window.assign(size_t(rows_ * pitch), 0.0);
    for (int64_t i = 0; i < rows_; i++)
      for (int64_t j = 0; j < width; j++) window[size_t(i * pitch + j)] = in_[(row + i) * inCols_ + column + j];
    for (int64_t c = 0; c < n; c += cm::kLanes) {
      cm::Lanes lanes;
      for (int64_t i = 0; i < rows_; i++)
        cm::accumulate(filter.data() + i * cols_, window.data() + i * pitch + c, cols_, 1, lanes);
      for (int64_t j = 0; j < std::min<int64_t>(cm::kLanes, n - c); j++)
        out[c + j] = cm::dotRef(lanes.sum[j], lanes.squares[j], rows_ * cols_);
    }
  }

  int64_t inCols_, rows_, cols_, outCols_;
  cm::View in_, kernel_;
  cm::LazyFloats filter_;
};

}  // namespace task
