// Versions of spmv_csc for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::CscInputs<false>>(measure::sparseVersions<measure::CscInputs<false>>); }
