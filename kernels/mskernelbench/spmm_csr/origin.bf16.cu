// Sparse matrix (CSR, bf16 values) times dense bf16 matrix with fp32 accumulation, naive: one thread per result in blocks of
// 16 x 16; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmm_csr_kernel_bf16(int rows, int K, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets,
                                const __nv_bfloat16* X, __nv_bfloat16* Y) {
  const long long row = (long long)blockIdx.x * blockDim.y + threadIdx.y;
  const long long k = (long long)blockIdx.y * blockDim.x + threadIdx.x;
  if (row >= rows || k >= K) return;
  float sum = 0.0f;
  for (int e = row_offsets[row]; e < row_offsets[row + 1]; ++e) {
    sum += __bfloat162float(values[e]) * __bfloat162float(X[(long long)col_indices[e] * K + k]);
  }
  Y[row * K + k] = __float2bfloat16_rn(sum);
}

extern "C" void spmm_csr_bf16(int rows, int K, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets, const __nv_bfloat16* X,
                         __nv_bfloat16* Y) {
  const dim3 block(16, 16);
  const dim3 grid(rows / 16 + (rows % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_csr_kernel_bf16<<<grid, block>>>(rows, K, values, col_indices, row_offsets, X, Y);
}
