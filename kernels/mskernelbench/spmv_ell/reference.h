// Reference of spmv_ell: y = A x with A in ELL format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmvReference<cm::EllRows> {
  using cm::SpmvReference<cm::EllRows>::SpmvReference;
};

}  // namespace task
