// Row softmax, naive: one thread owns a whole row and passes over it three times (maximum, exponentials and their sum,
// division). Neighbouring threads are C elements apart, so nothing coalesces, and few rows mean few threads.
#include <cuda_runtime.h>

__global__ void softmax_kernel(float* out, const float* input, int N, int C) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= N) return;
  const float* in = input + row * C;
  float* o = out + row * C;

  float maximum = in[0];
  for (int c = 1; c < C; ++c) maximum = fmaxf(maximum, in[c]);

  float sum = 0.0f;
  for (int c = 0; c < C; ++c) {
    const float e = expf(in[c] - maximum);
    o[c] = e;
    sum += e;
  }

  const float inverse = 1.0f / sum;
  for (int c = 0; c < C; ++c) o[c] *= inverse;
}

extern "C" void softmax(float* out, const float* input, int N, int C) {
  const int threads = 1024;
  const int blocks = N / threads + (N % threads != 0);
  softmax_kernel<<<blocks, threads>>>(out, input, N, C);
}
