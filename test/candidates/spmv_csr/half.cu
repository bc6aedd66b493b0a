// Expected: precision or wrong-result. Values and vector rounded to fp16 before they are multiplied.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void spmv_csr_kernel_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                          const float* x, float* y) {
  const int row = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
  const int lane = threadIdx.x % 32;
  if (row >= rows) return;
  const int begin = row_offsets[row], end = row_offsets[row + 1];
  float sum = 0;
  for (int k = begin + lane; k < end; k += 32)
    sum += __half2float(__float2half_rn(values[k])) * __half2float(__float2half_rn(x[col_indices[k]]));
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (lane == 0) y[row] = sum;
}

extern "C" void spmv_csr_optimized(int rows, const float* values, const int* col_indices, const int* row_offsets,
                                   const float* x, float* y) {
  spmv_csr_kernel_optimized<<<(rows + 7) / 8, 256>>>(rows, values, col_indices, row_offsets, x, y);
}
