// Reference of spmm_csr: Y = A X with A in CSR format; sparse.h says how entries are found and what the scale is.
#pragma once

#include "sparse.h"

namespace task {

struct Reference : cm::SpmmReference<cm::CsrRows> {
  using cm::SpmmReference<cm::CsrRows>::SpmmReference;
};

}  // namespace task
