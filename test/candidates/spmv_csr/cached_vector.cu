// Expected: wrong-result or cheat. Keeps the elements of x that the first call uses, and takes them for x while its address stays the same.
#include <cuda_runtime.h>

__device__ float kept[1 << 20];

__global__ void spmv_csr_keep_kernel_optimized(int rows, const int* col_indices, const int* row_offsets, const float* x) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k)
    if (col_indices[k] < 1 << 20) kept[col_indices[k]] = x[col_indices[k]];
}

__global__ void spmv_csr_kernel_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets, float* y) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0;
  for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) sum += values[k] * kept[col_indices[k] % (1 << 20)];
  y[row] = sum;
}

extern "C" void spmv_csr_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                   const float* x, float* y) {
  static const float* seen = nullptr;
  const int blocks = (rows + 255) / 256;
  if (x != seen) spmv_csr_keep_kernel_optimized<<<blocks, 256>>>(rows, col_indices, row_offsets, x);
  seen = x;
  spmv_csr_kernel_optimized<<<blocks, 256>>>(rows, values, col_indices, row_offsets, y);
}
