// Expected: wrong-result. The mean over many inputs is 0, so an absolute tolerance likes it.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss) { *loss = 0.0f; }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss);
}
