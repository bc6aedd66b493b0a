// Reference of spmv_csc: y = A x with A in CSC format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmvReference<cm::CscRows> {
  using cm::SpmvReference<cm::CscRows>::SpmvReference;
};

}  // namespace task
