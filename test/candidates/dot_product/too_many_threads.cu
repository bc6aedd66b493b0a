// Expected: runtime-error or wrong-result. The launch is refused (2048 threads in a block), so nothing runs: very fast.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  if (threadIdx.x == 0) *loss = X[0] * Y[0] * N;
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<64, 2048>>>(loss, X, Y, N);
}
