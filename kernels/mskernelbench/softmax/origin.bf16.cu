// Row softmax of a bf16 matrix, naive: one thread per row, three passes. Maximum, exponentials and their sum stay in
// fp32; the only rounding to bf16 is that of the result, so the last pass computes the exponential again.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void softmax_kernel_bf16(__nv_bfloat16* out, const __nv_bfloat16* input, int N, int C) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) return;
  const __nv_bfloat16* in = input + row * C;
  __nv_bfloat16* o = out + row * C;

  float maximum = __bfloat162float(in[0]);
  for (int c = 1; c < C; ++c) maximum = fmaxf(maximum, __bfloat162float(in[c]));

  float sum = 0.0f;
  for (int c = 0; c < C; ++c) sum += expf(__bfloat162float(in[c]) - maximum);

  const float inverse = 1.0f / sum;
  for (int c = 0; c < C; ++c) {
    o[c] = __float2bfloat16_rn(expf(__bfloat162float(in[c]) - maximum) * inverse);
  }
}

extern "C" void softmax_bf16(__nv_bfloat16* out, const __nv_bfloat16* input, int N, int C) {
  const int threads = 1024;
  const int blocks = N / threads + (N % threads != 0);
  softmax_kernel_bf16<<<blocks, threads>>>(out, input, N, C);
}
