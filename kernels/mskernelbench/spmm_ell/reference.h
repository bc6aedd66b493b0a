// Reference of spmm_ell: Y = A X with A in ELL format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmmReference<cm::EllRows> {
  using cm::SpmmReference<cm::EllRows>::SpmmReference;
};

}  // namespace task
