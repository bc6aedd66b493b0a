// ReLU, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the work, one
// element per load.
#include <cuda_runtime.h>

__global__ void RELU_kernel(float* output, const float* input, int N) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    const float x = input[i];
    output[i] = x > 0.0f ? x : 0.0f;
  }
}

extern "C" void RELU(float* output, const float* input, int N) { RELU_kernel<<<1, 1024>>>(output, input, N); }
