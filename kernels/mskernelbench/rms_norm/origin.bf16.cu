// RMS normalisation of one vector, naive: three launches. Every thread adds its partial sum of squares to one number
// with a global atomic; the last launch normalises. Arithmetic in fp32; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

/** Sum of squares of the call under way. */
__device__ float rms_norm_squares_bf16;

__global__ void rms_norm_reset_kernel_bf16() { rms_norm_squares_bf16 = 0.0f; }

__global__ void rms_norm_reduce_kernel_bf16(const __nv_bfloat16* input, int N) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= N) return;
  const long long stride = (long long)gridDim.x * blockDim.x;
  // In parts: in one sum of many thousand squares all roundings may go the same way (5e-5 for 65536 bf16 inputs).
  float squares = 0.0f, part = 0.0f;
  int added = 0;
  for (long long i = first; i < N; i += stride) {
    const float x = __bfloat162float(input[i]);
    part += x * x;
    if (++added % 256 == 0) {
      squares += part;
      part = 0.0f;
    }
  }
  atomicAdd(&rms_norm_squares_bf16, squares + part);
}

__global__ void rms_norm_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* weight,
                                     const __nv_bfloat16* bias, float epsilon, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float inverse = 1.0f / sqrtf(rms_norm_squares_bf16 / N + epsilon);
  output[i] = __float2bfloat16_rn(__bfloat162float(weight[i]) * (__bfloat162float(input[i]) * inverse) +
                                  __bfloat162float(bias[i]));
}

extern "C" void rms_norm_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* weight,
                              const __nv_bfloat16* bias, const float epsilon, const int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  // Few enough partial sums to be added one by one in fp32.
  const int summing = blocks < 4 ? blocks : 4;
  rms_norm_reset_kernel_bf16<<<1, 1>>>();
  rms_norm_reduce_kernel_bf16<<<summing, threads>>>(input, N);
  rms_norm_kernel_bf16<<<blocks, threads>>>(output, input, weight, bias, epsilon, N);
}
