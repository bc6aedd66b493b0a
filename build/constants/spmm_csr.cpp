// Versions of spmm_csr for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::CsrInputs<true>>(measure::sparseVersions<measure::CsrInputs<true>>); }
