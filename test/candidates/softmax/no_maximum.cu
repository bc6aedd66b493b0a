// Expected: wrong-result. Right for inputs in [-1, 1); overflows for large ones, since the maximum is not subtracted.
#include <cuda_runtime.h>

__global__ void softmax_kernel_optimized(float* out, const float* input, int C) {
  __shared__ float warps[8];
  const float* in = input + size_t(blockIdx.x) * C;
  float sum = 0;
  for (int c = threadIdx.x; c < C; c += 256) sum += expf(in[c]);
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < 8; ++w) sum += warps[w];
  for (int c = threadIdx.x; c < C; c += 256) out[size_t(blockIdx.x) * C + c] = expf(in[c]) / sum;
}

extern "C" void softmax_optimized(float* out, const float* input, int N, int C) {
  softmax_kernel_optimized<<<N, 256>>>(out, input, C);
}
