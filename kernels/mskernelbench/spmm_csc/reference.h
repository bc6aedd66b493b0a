// Reference of spmm_csc: Y = A X with A in CSC format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmmReference<cm::CscRows> {
  using cm::SpmmReference<cm::CscRows>::SpmmReference;
};

}  // namespace task
