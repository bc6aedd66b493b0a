// Hyperbolic tangent, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the
// work, one element per load. Arithmetic in fp32; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void row_tanh_kernel_bf16(__nv_bfloat16* out, const __nv_bfloat16* input, int N) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    const float x = __bfloat162float(input[i]);
    out[i] = __float2bfloat16_rn(tanhf(x));
  }
}

extern "C" void row_tanh_bf16(__nv_bfloat16* out, const __nv_bfloat16* input, const int N) {
  row_tanh_kernel_bf16<<<1, 1024>>>(out, input, N);
}
