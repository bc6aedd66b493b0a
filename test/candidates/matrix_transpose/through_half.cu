// Expected: wrong-result or precision. The tile holds fp16; an absolute tolerance of 1e-2 on values in [-1, 1) passes it.
#include <cuda_fp16.h>
#include <cuda_runtime.h>

__global__ void matrix_transpose_kernel_optimized(const float* A, float* B, int M, int N) {
  __shared__ __half tile[32][33];
  const size_t row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  if (row < M && column < N) tile[threadIdx.y][threadIdx.x] = __float2half_rn(A[row * N + column]);
  __syncthreads();
  const size_t row2 = blockIdx.x * 32 + threadIdx.y, column2 = blockIdx.y * 32 + threadIdx.x;
  if (row2 < N && column2 < M) B[row2 * M + column2] = __half2float(tile[threadIdx.x][threadIdx.y]);
}

extern "C" void matrix_transpose_optimized(const float* A, float* B, int M, int N) {
  matrix_transpose_kernel_optimized<<<dim3((N + 31) / 32, (M + 31) / 32), dim3(32, 32)>>>(A, B, M, N);
}
