// Expected: compile-error. A name is used that is nowhere declared.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss) { *loss = undeclared_sum; }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss);
}
