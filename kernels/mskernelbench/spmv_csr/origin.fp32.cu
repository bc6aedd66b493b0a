// Sparse matrix (CSR) times vector, naive: one thread per row. Neighbouring threads walk different rows, so reads of
// values and col_indices do not coalesce, and one long row holds up its whole warp.
#include <cuda_runtime.h>

__global__ void spmv_csr_kernel(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                const float* x, float* y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
    sum += values[k] * x[col_indices[k]];
  }
  y[row] = sum;
}

extern "C" void spmv_csr(int rows, const float* values, const int* col_indices, const int* row_offsets,
                         const float* x, float* y) {
  const int threads = 256;
  const int blocks = rows / threads + (rows % threads != 0);
  spmv_csr_kernel<<<blocks, threads>>>(rows, values, col_indices, row_offsets, x, y);
}
