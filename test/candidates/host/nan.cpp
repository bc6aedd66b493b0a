// Expected: wrong-result. NaN whatever the input.
#include <cmath>

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)X, (void)Y, (void)N;
  *loss = NAN;
}
