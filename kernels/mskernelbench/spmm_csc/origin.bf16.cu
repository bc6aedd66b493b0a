// Sparse matrix (CSC, bf16 values) times dense bf16 matrix, naive: one thread per matrix column and column of X, one fp32 atomic
// per product; a second kernel rounds the sums to bf16, once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmm_csc_kernel_bf16(int columns, int K, const __nv_bfloat16* values, const int* row_indices, const int* col_offsets,
                                const __nv_bfloat16* X, float* Y) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (column >= columns || k >= K) return;
  for (int e = col_offsets[column]; e < col_offsets[column + 1]; ++e) {
    atomicAdd(&Y[(long long)row_indices[e] * K + k], __bfloat162float(values[e]) * __bfloat162float(X[column * K + k]));
  }
}

/** fp32 sums of one call; the memory grows and stays, its content does not outlive the call. */
static float* workspace(size_t count) {
  static float* memory = nullptr;
  static size_t capacity = 0;
  if (count > capacity) {
    cudaFree(memory);
    capacity = cudaMalloc(&memory, count * sizeof(float)) == cudaSuccess ? count : 0;
    if (capacity == 0) memory = nullptr;
  }
  return memory;
}

__global__ void to_bf16_kernel(__nv_bfloat16* out, const float* sums, long long count) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) out[i] = __float2bfloat16_rn(sums[i]);
}

extern "C" void spmm_csc_bf16(int rows, int columns, int K, const __nv_bfloat16* values, const int* row_indices, const int* col_offsets,
                         const __nv_bfloat16* X, __nv_bfloat16* Y) {
  const long long count = (long long)rows * K;
  float* sums = workspace(size_t(count));
  cudaMemsetAsync(sums, 0, size_t(count) * sizeof(float));
  const dim3 block(16, 16);
  const dim3 grid(columns / 16 + (columns % 16 != 0), K / 16 + (K % 16 != 0));
  spmm_csc_kernel_bf16<<<grid, block>>>(columns, K, values, row_indices, col_offsets, X, sums);
  to_bf16_kernel<<<unsigned((count + 255) / 256), 256>>>(Y, sums, count);
}
