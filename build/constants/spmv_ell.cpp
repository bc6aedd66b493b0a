// Versions of spmv_ell for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::EllInputs<false>>(measure::sparseVersions<measure::EllInputs<false>>); }
