// Versions of spmm_coo for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::CooInputs<true>>(measure::sparseVersions<measure::CooInputs<true>>); }
