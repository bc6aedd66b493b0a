// Sparse matrix (CSC) times dense matrix, naive: one thread per matrix column and column of X, one global atomic per product.
// Neighbouring threads take neighbouring matrix columns, so reads of X and atomics are scattered.
#include <cuda_runtime.h>

__global__ void spmm_csc_kernel(int columns, int K, const float* values, const int* row_indices, const int* col_offsets,
                                const float* X, float* Y) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= columns || k >= K) return;
  for (int e = col_offsets[column]; e < col_offsets[column + 1]; ++e) {
    atomicAdd(&Y[(long long)row_indices[e] * K + k], values[e] * X[column * K + k]);
  }
}

extern "C" void spmm_csc(int rows, int columns, int K, const float* values, const int* row_indices, const int* col_offsets,
                         const float* X, float* Y) {
  const long long count = (long long)rows * K;
  cudaMemsetAsync(Y, 0, size_t(count) * sizeof(float));
  const dim3 block(16, 16);
  const dim3 grid(columns / 16 + (columns % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_csc_kernel<<<grid, block>>>(columns, K, values, row_indices, col_offsets, X, Y);
}
