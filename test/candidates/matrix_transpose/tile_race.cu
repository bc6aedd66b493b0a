// Expected: race or wrong-result. The barrier between filling the tile and reading it is missing.
#include <cuda_runtime.h>

constexpr int kTile = 32;
constexpr int kRows = 8;

__global__ void matrix_transpose_kernel_optimized(const float* __restrict__ A, float* __restrict__ B, int M, int N) {
  __shared__ float tile[kTile][kTile + 1];
  const int column = blockIdx.x * kTile + threadIdx.x;
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column2 = blockIdx.y * kTile + threadIdx.x;
  const int row2 = blockIdx.x * kTile + threadIdx.y;
  for (int k = 0; k < kTile; k += kRows)
    if (column < N && row + k < M) tile[threadIdx.y + k][threadIdx.x] = A[size_t(row + k) * N + column];
  for (int k = 0; k < kTile; k += kRows)
    if (column2 < M && row2 + k < N) B[size_t(row2 + k) * M + column2] = tile[threadIdx.x][threadIdx.y + k];
}

extern "C" void matrix_transpose_optimized(const float* A, float* B, int M, int N) {
  const dim3 blocks((N + kTile - 1) / kTile, (M + kTile - 1) / kTile);
  matrix_transpose_kernel_optimized<<<blocks, dim3(kTile, kRows)>>>(A, B, M, N);
}
