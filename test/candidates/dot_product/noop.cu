// Expected: wrong-result. Launches a kernel that writes nothing; an output that keeps an earlier answer would pass.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  if (N < 0) *loss = X[0] + Y[0];
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss, X, Y, N);
}
