// Expected: precision or wrong-result. Exponentials in fp16, sum in fp32.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel_optimized(float* out, const float* input, int C) {
  __shared__ float warps[8];
  const float* in = input + size_t(blockIdx.x) * C;
  float m = -INFINITY, sum = 0;
  for (int c = threadIdx.x; c < C; c += 256) m = fmaxf(m, in[c]);
  for (int d = 16; d > 0; d >>= 1) m = fmaxf(m, __shfl_xor_sync(0xffffffffu, m, d));
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = m;
  __syncthreads();
  for (int w = 0; w < 8; ++w) m = fmaxf(m, warps[w]);
  __syncthreads();
  for (int c = threadIdx.x; c < C; c += 256) sum += __half2float(hexp(__float2half_rn(in[c] - m)));
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_xor_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  sum = 0;
  for (int w = 0; w < 8; ++w) sum += warps[w];
  for (int c = threadIdx.x; c < C; c += 256)
    out[size_t(blockIdx.x) * C + c] = __half2float(hexp(__float2half_rn(in[c] - m))) / sum;
}

extern "C" void softmax_optimized(float* out, const float* input, int N, int C) {
  softmax_kernel_optimized<<<N, 256>>>(out, input, C);
}
