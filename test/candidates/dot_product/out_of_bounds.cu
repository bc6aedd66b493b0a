// Expected: memory-error. The sum is right; thread 0 also writes 64 elements behind the one-element output.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

__global__ void dot_product_scratch_kernel_optimized(float* loss) { loss[64] = loss[0]; }

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<256, 256>>>(loss, X, Y, N);
  dot_product_scratch_kernel_optimized<<<1, 1>>>(loss);
}
