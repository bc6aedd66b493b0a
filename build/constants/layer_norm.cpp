// Versions of layer_norm for measuring its error constant.
#include "normalization.h"

using namespace measure;

int main() { return program<Vector>(meanAndVariance<Vector>); }
