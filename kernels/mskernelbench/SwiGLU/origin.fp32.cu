// SwiGLU, naive: one thread per element, one element per load.
#include <cuda_runtime.h>

__global__ void SwiGLU_kernel(float* output, const float* gate_input, const float* value_input, float beta, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float g = gate_input[i];
  const float v = value_input[i];
  const float sigmoid = 1.0f / (1.0f + expf(-beta * g));
  output[i] = g * sigmoid * v;
}

extern "C" void SwiGLU(float* output, const float* gate_input, const float* value_input, float beta, int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  SwiGLU_kernel<<<blocks, threads>>>(output, gate_input, value_input, beta, N);
}
