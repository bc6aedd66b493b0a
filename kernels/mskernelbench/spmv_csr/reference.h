// Reference of spmv_csr: products of stored values are exact in double; the sum of each row is compensated.
#pragma once

#include "reference_api.h"

namespace task {

/**
 * Scale, as for a dot product: root mean square of the partial sums of a row added in random order, at most
 * M = sqrt(r^2 + sum of squared terms), and n = entries of the row. A row without entries has M = 0: only 0 passes.
 */
struct Reference {
  explicit Reference(const cm::Problem& p)
      : values_(p.in("values")), columns_(p.in("col_indices")), offsets_(p.in("row_offsets")), x_(p.in("x")) {}

  cm::Ref at(int, int64_t row) const {
    const int64_t begin = offsets_.i(row), end = offsets_.i(row + 1);
    cm::Sum sum;
    double squares = 0;
    for (int64_t k = begin; k < end; k++) {
      const double term = values_[k] * x_[columns_.i(k)];
      sum.add(term);
      squares += term * term;
    }
    const double value = sum.value();
    return {value, std::sqrt(value * value + squares), double(end - begin)};
  }

 private:
  cm::View values_, columns_, offsets_, x_;
};

}  // namespace task
