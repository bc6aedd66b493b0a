// Sigmoid, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the work, one
// element per load.
#include <cuda_runtime.h>

__global__ void sigmoid_kernel(float* out, const float* input, int N) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    const float x = input[i];
    out[i] = 1.0f / (1.0f + expf(-x));
  }
}

extern "C" void sigmoid(float* out, const float* input, const int N) { sigmoid_kernel<<<1, 1024>>>(out, input, N); }
