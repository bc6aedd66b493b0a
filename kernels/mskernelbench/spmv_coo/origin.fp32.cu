// Sparse matrix (COO) times vector, naive: one thread and one global atomic per entry, onto rows in no order.
#include <cuda_runtime.h>

__global__ void spmv_coo_kernel(int nnz, const float* values, const int* row_indices, const int* col_indices,
                                const float* x, float* y) {
  const long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= nnz) return;
  atomicAdd(&y[row_indices[k]], values[k] * x[col_indices[k]]);
}

extern "C" void spmv_coo(int rows, int nnz, const float* values, const int* row_indices, const int* col_indices, const float* x,
                         float* y) {
  const long long count = rows;
  cudaMemsetAsync(y, 0, size_t(count) * sizeof(float));
  const int threads = 256;
  if (nnz > 0) spmv_coo_kernel<<<nnz / threads + (nnz % threads != 0), threads>>>(nnz, values, row_indices, col_indices, x, y);
}
