// Expected: wrong-result. Rows without entries return early and are never written.
#include <cuda_runtime.h>

__global__ void spmv_csr_kernel_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                          const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  if (begin == end) return;
  float sum = 0;
  for (int k = begin + lane; k < end; k += 32) sum += values[k] * x[col_indices[k]];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" void spmv_csr_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                   const float* x, float* y) {
  spmv_csr_kernel_optimized<<<(rows + 7) / 8, 256>>>(rows, values, col_indices, row_offsets, x, y);
}
