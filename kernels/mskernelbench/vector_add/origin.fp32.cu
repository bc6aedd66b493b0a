// Vector addition, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the
// work, one element per load.
#include <cuda_runtime.h>

__global__ void vector_add_kernel(const float* A, const float* B, float* C, int N) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    C[i] = A[i] + B[i];
  }
}

extern "C" void vector_add(const float* A, const float* B, float* C, int N) {
  vector_add_kernel<<<1, 1024>>>(A, B, C, N);
}
