// Matrix times vector, naive: one thread per row. Neighbouring threads read N elements apart, so nothing coalesces, and
// there are only as many threads as rows.
#include <cuda_runtime.h>

__global__ void matrix_vector_mul_kernel(const float* A, const float* x, float* y, int M, int N) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  const float* a = A + row * N;
  float sum = 0.0f;
  for (int j = 0; j < N; ++j) sum += a[j] * x[j];
  y[row] = sum;
}

extern "C" void matrix_vector_mul(const float* A, const float* x, float* y, int M, int N) {
  const int threads = 256;
  const int blocks = M / threads + (M % threads != 0);
  matrix_vector_mul_kernel<<<blocks, threads>>>(A, x, y, M, N);
}
