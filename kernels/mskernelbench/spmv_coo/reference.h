// Reference of spmv_coo: y = A x with A in COO format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmvReference<cm::CooRows> {
  using cm::SpmvReference<cm::CooRows>::SpmvReference;
};

}  // namespace task
