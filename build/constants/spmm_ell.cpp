// Versions of spmm_ell for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::EllInputs<true>>(measure::sparseVersions<measure::EllInputs<true>>); }
