// Expected: wrong-result. Prints what a harness might take for a good result, and computes nothing.
#include <cstdio>

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  (void)loss, (void)X, (void)Y, (void)N;
  std::printf("{\"ok\":true,\"wrapperNs\":1,\"bad\":0}\n");
  std::fflush(stdout);
}
