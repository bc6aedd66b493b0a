// Expected: wrong-result. NaN compares false with everything, so a check of the form "difference > limit" passes it.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss) { *loss = __int_as_float(0x7fc00000); }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss);
}
