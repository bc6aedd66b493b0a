// Rotary position embedding in bf16, naive: one thread per pair computes its power, cosine and sine anew in fp32; each result
// is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void rope_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, int M, int D, float base) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int pairs = D / 2;
  if (i >= (long long)M * pairs) return;
  const int position = (int)(i / pairs);
  const int pair = (int)(i % pairs);
  const float frequency = powf(base, -2.0f * pair / D);
  const float angle = position * frequency;
  const float cosine = cosf(angle), sine = sinf(angle);
  const float first = __bfloat162float(input[2 * i]), second = __bfloat162float(input[2 * i + 1]);
  output[2 * i] = __float2bfloat16_rn(first * cosine - second * sine);
  output[2 * i + 1] = __float2bfloat16_rn(first * sine + second * cosine);
}

extern "C" void rope_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, int M, int D, float base) {
  const int threads = 256;
  const long long pairs = (long long)M * (D / 2);
  const long long blocks = pairs / threads + (pairs % threads != 0);
  rope_kernel_bf16<<<(unsigned)blocks, threads>>>(output, input, M, D, base);
}
