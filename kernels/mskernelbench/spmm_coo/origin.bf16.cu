// Sparse matrix (COO, bf16 values) times dense bf16 matrix, naive: one thread and one fp32 atomic per entry and column of X,
// neighbouring threads on neighbouring entries; a second kernel rounds the sums to bf16, once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmm_coo_kernel_bf16(int nnz, int K, const __nv_bfloat16* values, const int* row_indices, const int* col_indices,
                                const __nv_bfloat16* X, float* Y) {
  const long long e = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long k = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (e >= nnz || k >= K) return;
  atomicAdd(&Y[(long long)row_indices[e] * K + k], __bfloat162float(values[e]) * __bfloat162float(X[(long long)col_indices[e] * K + k]));
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

extern "C" void spmm_coo_bf16(int rows, int nnz, int K, const __nv_bfloat16* values, const int* row_indices, const int* col_indices,
                         const __nv_bfloat16* X, __nv_bfloat16* Y) {
  const long long count = (long long)rows * K;
  float* sums = workspace(size_t(count));
  cudaMemsetAsync(sums, 0, size_t(count) * sizeof(float));
  const dim3 block(16, 16);
  const dim3 grid(nnz / 16 + (nnz % 16 != 0), K / 16 + (K % 16 != 0));
  if (nnz > 0) spmm_coo_kernel_bf16<<<grid, block>>>(nnz, K, values, row_indices, col_indices, X, sums);
  to_bf16_kernel<<<unsigned((count + 255) / 256), 256>>>(Y, sums, count);
}
