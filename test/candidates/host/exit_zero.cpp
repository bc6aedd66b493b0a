// Expected: runtime-error or cheat. Ends the process with success.
#include <cstdlib>

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)X, (void)Y, (void)N;
  *loss = 0.0f;
  std::exit(0);
}
