// Expected: precision. Factors rounded to fp16 and multiplied there; only the last sums are fp32.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) {
    sum += __half2float(__hmul(__float2half_rn(X[i]), __float2half_rn(Y[i])));
  }
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<256, 256>>>(loss, X, Y, N);
}
