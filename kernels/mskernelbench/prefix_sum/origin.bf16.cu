// Inclusive prefix sum of bf16 numbers, naive: every thread adds up its whole prefix again in fp32 and rounds it to bf16, once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void prefix_sum_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  float sum = 0.0f;
  for (int j = 0; j <= i; ++j) sum += __bfloat162float(input[j]);
  output[i] = __float2bfloat16_rn(sum);
}

extern "C" void prefix_sum_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  prefix_sum_kernel_bf16<<<blocks, threads>>>(output, input, N);
}
