// Reference of matrix_transpose: a copy, bit for bit.
#pragma once

#include "reference_api.h"

namespace task {

struct Reference {
  /** A copy keeps the sign of zero. */
  static constexpr bool signedZeros = true;

  explicit Reference(const cm::Problem& p) : rows_(p.dim("M")), columns_(p.dim("N")), a_(p.in("A")) {}

  /** Element i of B (columns x rows) is A[i % rows][i / rows]. */
  cm::Ref at(int, int64_t i) const { return {a_[(i % rows_) * columns_ + i / rows_], 0.0, 1.0}; }

 private:
  int64_t rows_, columns_;
  cm::View a_;
};

}  // namespace task
