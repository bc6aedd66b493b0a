// SwiGLU, naive: one thread per element, one element per load. Arithmetic in fp32; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void SwiGLU_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* gate_input,
                                   const __nv_bfloat16* value_input, float beta, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float g = __bfloat162float(gate_input[i]);
  const float v = __bfloat162float(value_input[i]);
  const float sigmoid = 1.0f / (1.0f + expf(-beta * g));
  output[i] = __float2bfloat16_rn(g * sigmoid * v);
}

extern "C" void SwiGLU_bf16(__nv_bfloat16* output, const __nv_bfloat16* gate_input, const __nv_bfloat16* value_input,
                            float beta, int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  SwiGLU_kernel_bf16<<<blocks, threads>>>(output, gate_input, value_input, beta, N);
}
