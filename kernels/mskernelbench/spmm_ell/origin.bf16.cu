// Sparse matrix (row-major ELL, bf16 values) times dense bf16 matrix with fp32 accumulation, naive: one thread per result,
// neighbouring threads on neighbouring rows; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmm_ell_kernel_bf16(int rows, int max_nnz_per_row, int K, const __nv_bfloat16* values, const int* col_ids, const __nv_bfloat16* X,
                                __nv_bfloat16* Y) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= rows || k >= K) return;
  float sum = 0.0f;
  for (int e = 0; e < max_nnz_per_row; ++e) {
    const long long place = row * max_nnz_per_row + e;
    const int column = col_ids[place];
    if (column >= 0) sum += __bfloat162float(values[place]) * __bfloat162float(X[(long long)column * K + k]);
  }
  Y[row * K + k] = __float2bfloat16_rn(sum);
}

extern "C" void spmm_ell_bf16(int rows, int max_nnz_per_row, int K, const __nv_bfloat16* values, const int* col_ids, const __nv_bfloat16* X, __nv_bfloat16* Y) {
  const dim3 block(16, 16);
  const dim3 grid(rows / 16 + (rows % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_ell_kernel_bf16<<<grid, block>>>(rows, max_nnz_per_row, K, values, col_ids, X, Y);
}
