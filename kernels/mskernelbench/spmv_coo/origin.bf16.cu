// Sparse matrix (COO, bf16 values) times bf16 vector, naive: one thread and one fp32 atomic per entry; a second kernel rounds
// the sums to bf16, once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void spmv_coo_kernel_bf16(int nnz, const __nv_bfloat16* values, const int* row_indices, const int* col_indices,
                                const __nv_bfloat16* x, float* y) {
  const long long k = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (k >= nnz) return;
  atomicAdd(&y[row_indices[k]], __bfloat162float(values[k]) * __bfloat162float(x[col_indices[k]]));
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

extern "C" void spmv_coo_bf16(int rows, int nnz, const __nv_bfloat16* values, const int* row_indices, const int* col_indices, const __nv_bfloat16* x,
                         __nv_bfloat16* y) {
  const long long count = rows;
  float* sums = workspace(size_t(count));
  cudaMemsetAsync(sums, 0, size_t(count) * sizeof(float));
  const int threads = 256;
  if (nnz > 0) spmv_coo_kernel_bf16<<<nnz / threads + (nnz % threads != 0), threads>>>(nnz, values, row_indices, col_indices, x, sums);
  to_bf16_kernel<<<unsigned((count + 255) / 256), 256>>>(y, sums, count);
}
