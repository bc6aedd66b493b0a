// Expected: timeout. A kernel that never ends.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(volatile float* loss) {
  while (*loss == *loss || *loss != *loss) *loss = 1.0f;
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss);
}
