// Sparse matrix (row-major ELL) times vector, naive: one thread per row, so neighbouring threads read places a whole row of
// the matrix apart.
#include <cuda_runtime.h>

__global__ void spmv_ell_kernel(int rows, int max_nnz_per_row, const float* values, const int* col_ids, const float* x, float* y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int e = 0; e < max_nnz_per_row; ++e) {
    const long long place = row * max_nnz_per_row + e;
    const int column = col_ids[place];
    if (column >= 0) sum += values[place] * x[column];
  }
  y[row] = sum;
}

extern "C" void spmv_ell(int rows, int max_nnz_per_row, const float* values, const int* col_ids, const float* x, float* y) {
  const int threads = 256;
  const int blocks = rows / threads + (rows % threads != 0);
  spmv_ell_kernel<<<blocks, threads>>>(rows, max_nnz_per_row, values, col_ids, x, y);
}
