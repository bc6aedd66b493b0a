// Sparse matrix (COO) times dense matrix, naive: one thread and one global atomic per entry and column of X. Neighbouring
// threads take neighbouring entries, not columns, so reads of X and atomics are scattered.
#include <cuda_runtime.h>

__global__ void spmm_coo_kernel(int nnz, int K, const float* values, const int* row_indices, const int* col_indices,
                                const float* X, float* Y) {
  const long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (e >= nnz || k >= K) return;
  atomicAdd(&Y[(long long)row_indices[e] * K + k], values[e] * X[(long long)col_indices[e] * K + k]);
}

extern "C" void spmm_coo(int rows, int nnz, int K, const float* values, const int* row_indices, const int* col_indices,
                         const float* X, float* Y) {
  const long long count = (long long)rows * K;
  cudaMemsetAsync(Y, 0, size_t(count) * sizeof(float));
  const dim3 block(16, 16);
  const dim3 grid(nnz / 16 + (nnz % 16 != 0), K / 16 + (K % 16 != 0));
  if (nnz > 0) spmm_coo_kernel<<<grid, block>>>(nnz, K, values, row_indices, col_indices, X, Y);
}
