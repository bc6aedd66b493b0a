// Sparse matrix (CSR, bf16 values) times bf16 vector with fp32 accumulation, naive: one thread per row; each result is
// rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_csr_kernel_bf16(int rows, const __nv_bfloat16* values, const int* col_indices,
                                     const int* row_offsets, const __nv_bfloat16* x, __nv_bfloat16* y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int k = row_offsets[row]; k < row_offsets[row + 1]; ++k) {
    sum += __bfloat162float(values[k]) * __bfloat162float(x[col_indices[k]]);
  }
  y[row] = __float2bfloat16_rn(sum);
}

extern "C" void spmv_csr_bf16(int rows, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets,
                              const __nv_bfloat16* x, __nv_bfloat16* y) {
  const int threads = 256;
  const int blocks = rows / threads + (rows % threads != 0);
  spmv_csr_kernel_bf16<<<blocks, threads>>>(rows, values, col_indices, row_offsets, x, y);
}
