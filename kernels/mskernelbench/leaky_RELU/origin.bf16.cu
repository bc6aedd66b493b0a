// Leaky ReLU, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the work, one
// element per load. Arithmetic in fp32; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void leaky_RELU_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, int N, float alpha) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    const float x = __bfloat162float(input[i]);
    output[i] = __float2bfloat16_rn(x >= 0.0f ? x : alpha * x);
  }
}

extern "C" void leaky_RELU_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const int N, float alpha) {
  leaky_RELU_kernel_bf16<<<1, 1024>>>(output, input, N, alpha);
}
