// Versions of spmv_coo for measuring its error constant.
#include "sparse_versions.h"

int main() { return measure::program<measure::CooInputs<false>>(measure::sparseVersions<measure::CooInputs<false>>); }
