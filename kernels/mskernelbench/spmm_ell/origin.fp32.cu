// Sparse matrix (row-major ELL) times dense matrix, naive: one thread per result in blocks of 16 x 16 with neighbouring threads
// on neighbouring rows, so that nothing coalesces; padding is looked at, not skipped.
#include <cuda_runtime.h>

__global__ void spmm_ell_kernel(int rows, int max_nnz_per_row, int K, const float* values, const int* col_ids, const float* X,
                                float* Y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || k >= K) return;
  float sum = 0.0f;
  for (int e = 0; e < max_nnz_per_row; ++e) {
    const long long place = row * max_nnz_per_row + e;
    const int column = col_ids[place];
    if (column >= 0) sum += values[place] * X[(long long)column * K + k];
  }
  Y[row * K + k] = sum;
}

extern "C" void spmm_ell(int rows, int max_nnz_per_row, int K, const float* values, const int* col_ids, const float* X, float* Y) {
  const dim3 block(16, 16);
  const dim3 grid(rows / 16 + (rows % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_ell_kernel<<<grid, block>>>(rows, max_nnz_per_row, K, values, col_ids, X, Y);
}
