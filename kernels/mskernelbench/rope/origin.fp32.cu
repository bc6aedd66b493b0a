// Rotary position embedding, naive: one thread per pair computes its power, cosine and sine anew, although each frequency
// belongs to a whole column and each pair of a row is read and written with scalar accesses.
#include <cuda_runtime.h>

__global__ void rope_kernel(float* output, const float* input, int M, int D, float base) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const int pairs = D / 2;
  if (i >= (long long)M * pairs) return;
  const int position = (int)(i / pairs);
  const int pair = (int)(i % pairs);
  const float frequency = powf(base, -2.0f * pair / D);
  const float angle = position * frequency;
  const float cosine = cosf(angle), sine = sinf(angle);
  const float first = input[2 * i], second = input[2 * i + 1];
  output[2 * i] = first * cosine - second * sine;
  output[2 * i + 1] = first * sine + second * cosine;
}

extern "C" void rope(float* output, const float* input, int M, int D, float base) {
  const int threads = 256;
  const long long pairs = (long long)M * (D / 2);
  const long long blocks = pairs / threads + (pairs % threads != 0);
  rope_kernel<<<(unsigned)blocks, threads>>>(output, input, M, D, base);
}
