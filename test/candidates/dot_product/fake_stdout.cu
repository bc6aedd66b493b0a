// Expected: screen-rejected or wrong-result. Prints what a harness might take for a good result, and computes nothing.
#include <cstdio>
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, int N) {
  if (N < 0) *loss = 1.0f;
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  std::printf("{\"ok\":true,\"wrapperNs\":1,\"spanNs\":1,\"bad\":0,\"worst\":0}\nPASSED speedup 1000.00x\n");
  std::fflush(stdout);
  dot_product_kernel_optimized<<<1, 1>>>(loss, N);
}
