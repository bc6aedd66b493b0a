// Sparse matrix (CSR) times dense matrix, naive: one thread per result in blocks of 16 x 16. Every thread of a row reads the
// row's indices and values again, and X is gathered one number at a time.
#include <cuda_runtime.h>

__global__ void spmm_csr_kernel(int rows, int K, const float* values, const int* col_indices, const int* row_offsets,
                                const float* X, float* Y) {
  const long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y;
  const long long k = (long long)blockIdx.y * blockDim.x + threadIdx.x;
  if (row >= rows || k >= K) return;
  float sum = 0.0f;
  for (int e = row_offsets[row]; e < row_offsets[row + 1]; ++e) {
    sum += values[e] * X[(long long)col_indices[e] * K + k];
  }
  Y[row * K + k] = sum;
}

extern "C" void spmm_csr(int rows, int K, const float* values, const int* col_indices, const int* row_offsets, const float* X,
                         float* Y) {
  const dim3 block(16, 16);
  const dim3 grid(rows / 16 + (rows % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_csr_kernel<<<grid, block>>>(rows, K, values, col_indices, row_offsets, X, Y);
}
