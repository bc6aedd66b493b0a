// Expected: screen-rejected, runtime-error or cheat. Ends the process with success instead of computing.
#include <cstdlib>
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss) { *loss = 0.0f; }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 1>>>(loss);
  std::exit(0);
}
