// Batch normalisation over the rows of an N x C matrix, naive: one thread per feature walks down its column three times
// (mean, variance, result). Neighbouring threads read neighbouring elements, but few features mean few threads.
// Arithmetic in fp32; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void batch_norm_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* gamma,
                                       const __nv_bfloat16* beta, float epsilon, int N, int C) {
  const long long c = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= C) return;

  float sum = 0.0f;
  for (long long n = 0; n < N; ++n) sum += __bfloat162float(input[n * C + c]);
  const float mean = sum / N;

  float squares = 0.0f;
  for (long long n = 0; n < N; ++n) {
    const float deviation = __bfloat162float(input[n * C + c]) - mean;
    squares += deviation * deviation;
  }
  const float inverse = 1.0f / sqrtf(squares / N + epsilon);

  const float scale = __bfloat162float(gamma[c]);
  const float shift = __bfloat162float(beta[c]);
  for (long long n = 0; n < N; ++n) {
    output[n * C + c] = __float2bfloat16_rn(scale * ((__bfloat162float(input[n * C + c]) - mean) * inverse) + shift);
  }
}

extern "C" void batch_norm_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* gamma,
                                const __nv_bfloat16* beta, const float epsilon, const int N, const int C) {
  const int threads = 256;
  const int blocks = C / threads + (C % threads != 0);
  batch_norm_kernel_bf16<<<blocks, threads>>>(output, input, gamma, beta, epsilon, N, C);
}
