// Sparse matrix (CSC) times vector, naive: one thread walks a column and adds every product to its row with a global atomic;
// neighbouring threads read entries a column apart.
#include <cuda_runtime.h>

__global__ void spmv_csc_kernel(int columns, const float* values, const int* row_indices, const int* col_offsets,
                                const float* x, float* y) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  for (int k = col_offsets[column]; k < col_offsets[column + 1]; ++k) {
    atomicAdd(&y[row_indices[k]], values[k] * x[column]);
  }
}

extern "C" void spmv_csc(int rows, int columns, const float* values, const int* row_indices, const int* col_offsets,
                         const float* x, float* y) {
  const long long count = rows;
  cudaMemsetAsync(y, 0, size_t(count) * sizeof(float));
  const int threads = 256;
  spmv_csc_kernel<<<columns / threads + (columns % threads != 0), threads>>>(columns, values, row_indices, col_offsets, x, y);
}
