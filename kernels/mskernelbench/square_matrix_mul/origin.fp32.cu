// Product of square matrices, naive: one thread per result in 16 x 16 blocks, all operands straight from global memory.
#include <cuda_runtime.h>

__global__ void square_matrix_mul_kernel(const float* A, const float* B, float* C, int M) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || column >= M) return;
  float sum = 0.0f;
  for (long long k = 0; k < M; ++k) sum += A[row * M + k] * B[k * M + column];
  C[row * M + column] = sum;
}

extern "C" void square_matrix_mul(const float* A, const float* B, float* C, int M) {
  const int edge = 16;
  const int tiles = M / edge + (M % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(tiles, tiles);
  square_matrix_mul_kernel<<<blocks, threads>>>(A, B, C, M);
}
