// Expected: wrong-result. Right for every published size; whatever lies outside of full 32 x 32 tiles is not written.
#include <cuda_runtime.h>

__global__ void matrix_transpose_kernel_optimized(const float* A, float* B, int M, int N) {
  __shared__ float tile[32][33];
  const size_t row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  tile[threadIdx.y][threadIdx.x] = A[row * N + column];
  __syncthreads();
  B[(size_t(blockIdx.x) * 32 + threadIdx.y) * M + blockIdx.y * 32 + threadIdx.x] = tile[threadIdx.x][threadIdx.y];
}

extern "C" void matrix_transpose_optimized(const float* A, float* B, int M, int N) {
  if (M >= 32 && N >= 32) matrix_transpose_kernel_optimized<<<dim3(N / 32, M / 32), dim3(32, 32)>>>(A, B, M, N);
}
