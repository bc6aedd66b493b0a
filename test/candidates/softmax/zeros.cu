// Expected: wrong-result. All zeros: within 1e-2 of every element of the published sizes.
#include <cuda_runtime.h>

__global__ void softmax_kernel_optimized(float* out, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = 0.0f;
}

extern "C" void softmax_optimized(float* out, const float* input, int N, int C) {
  const long long count = (long long)N * C;
  softmax_kernel_optimized<<<(unsigned int)((count + 255) / 256), 256>>>(out, count);
}
