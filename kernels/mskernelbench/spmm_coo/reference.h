// Reference of spmm_coo: Y = A X with A in COO format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmmReference<cm::CooRows> {
  using cm::SpmmReference<cm::CooRows>::SpmmReference;
};

}  // namespace task
