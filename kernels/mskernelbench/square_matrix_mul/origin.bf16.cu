// Product of square bf16 matrices with fp32 accumulation, naive: one thread per result in 16 x 16 blocks, all operands
// straight from global memory; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void square_matrix_mul_kernel_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= M || column >= M) return;
  float sum = 0.0f;
  for (long long k = 0; k < M; ++k) sum += __bfloat162float(A[row * M + k]) * __bfloat162float(B[k * M + column]);
  C[row * M + column] = __float2bfloat16_rn(sum);
}

extern "C" void square_matrix_mul_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M) {
  const int edge = 16;
  const int tiles = M / edge + (M % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(tiles, tiles);
  square_matrix_mul_kernel_bf16<<<blocks, threads>>>(A, B, C, M);
}
