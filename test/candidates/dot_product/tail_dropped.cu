// Expected: wrong-result. Right for every published size, wrong wherever N is not a multiple of 4.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float4* X, const float4* Y, int quads) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < quads; i += gridDim.x * blockDim.x) {
    const float4 x = X[i], y = Y[i];
    sum += x.x * y.x + x.y * y.y + x.z * y.z + x.w * y.w;
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<256, 256>>>(loss, reinterpret_cast<const float4*>(X), reinterpret_cast<const float4*>(Y), N / 4);
}
