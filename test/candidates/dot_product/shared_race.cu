// Expected: race or wrong-result. The barrier between the warps' writes to shared memory and their sum is missing.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  __shared__ float warps[8];
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  if (threadIdx.x == 255) {  // the last warp is often the last to write, so this often looks right
    float total = 0;
    for (int w = 0; w < 8; ++w) total += warps[w];
    atomicAdd(loss, total);
  }
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<256, 256>>>(loss, X, Y, N);
}
