// Expected: runtime-error or memory-error. Reads far outside of any allocation.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, long long far) { *loss = X[far]; }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss, X, 1ll << 44);
}
