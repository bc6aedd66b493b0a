// Matrix product, naive: one thread per result, which walks a row of A and a column of B in global memory. Nothing is
// staged in shared memory, so every element is fetched again by each of the threads that need it.
#include <cuda_runtime.h>

__global__ void matrix_mul_kernel(const float* A, const float* B, float* C, int M, int N, int K) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= N) return;
  // The grid's second extent is limited to 65535 blocks; taller matrices take more than one step.
  const long long step = (long long)gridDim.y * blockDim.y;
  for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < M; row += step) {
    float sum = 0.0f;
    for (long long k = 0; k < K; ++k) sum += A[row * K + k] * B[k * N + column];
    C[row * N + column] = sum;
  }
}

extern "C" void matrix_mul(const float* A, const float* B, float* C, int M, int N, int K) {
  const int edge = 16;
  const int wide = N / edge + (N % edge != 0);
  const int high = M / edge + (M % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(wide, high < 65535 ? high : 65535);
  matrix_mul_kernel<<<blocks, threads>>>(A, B, C, M, N, K);
}
