// Sparse matrix (row-major ELL, bf16 values) times bf16 vector with fp32 accumulation, naive: one thread per row; each result
// is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_ell_kernel_bf16(int rows, int max_nnz_per_row, const __nv_bfloat16* values, const int* col_ids, const __nv_bfloat16* x, __nv_bfloat16* y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float sum = 0.0f;
  for (int e = 0; e < max_nnz_per_row; ++e) {
    const long long place = row * max_nnz_per_row + e;
    const int column = col_ids[place];
    if (column >= 0) sum += __bfloat162float(values[place]) * __bfloat162float(x[column]);
  }
  y[row] = __float2bfloat16_rn(sum);
}

extern "C" void spmv_ell_bf16(int rows, int max_nnz_per_row, const __nv_bfloat16* values, const int* col_ids, const __nv_bfloat16* x, __nv_bfloat16* y) {
  const int threads = 256;
  const int blocks = rows / threads + (rows % threads != 0);
  spmv_ell_kernel_bf16<<<blocks, threads>>>(rows, max_nnz_per_row, values, col_ids, x, y);
}
