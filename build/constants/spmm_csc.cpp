// Versions of spmm_csc for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::CscInputs<true>>(measure::sparseVersions<measure::CscInputs<true>>); }
