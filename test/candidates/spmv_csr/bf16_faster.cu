// Expected: accepted. Eight lanes share a row, so that reads of values and columns coalesce; few rows get a whole warp each.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

template <int LANES>
__global__ void spmv_csr_kernel_optimized(int rows, const __nv_bfloat16* __restrict__ values, const int* __restrict__ col_indices,
                                          const int* __restrict__ row_offsets, const __nv_bfloat16* __restrict__ x,
                                          __nv_bfloat16* __restrict__ y) {
  const long long thread = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = thread / LANES;
  const int lane = int(thread % LANES);
  float sum = 0;
  if (row < rows) {
    const int end = row_offsets[row + 1];
    for (int k = row_offsets[row] + lane; k < end; k += LANES) sum = fmaf(__bfloat162float(values[k]), __bfloat162float(x[col_indices[k]]), sum);
  }
  for (int d = LANES / 2; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d, LANES);
  if (row < rows && lane == 0) y[row] = __float2bfloat16_rn(sum);
}

extern "C" void spmv_csr_bf16_optimized(int rows, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets,
                                   const __nv_bfloat16* x, __nv_bfloat16* y) {
  if (rows < 4096) {
    const unsigned int blocks = (unsigned int)(((long long)rows * 32 + 255) / 256);
    spmv_csr_kernel_optimized<32><<<blocks, 256>>>(rows, values, col_indices, row_offsets, x, y);
  } else {
    const unsigned int blocks = (unsigned int)(((long long)rows * 8 + 255) / 256);
    spmv_csr_kernel_optimized<8><<<blocks, 256>>>(rows, values, col_indices, row_offsets, x, y);
  }
}
