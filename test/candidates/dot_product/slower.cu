// Expected: not-faster. Correct, but one block does all the work.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  __shared__ float sums[32];
  float sum = 0;
  for (int i = threadIdx.x; i < N; i += 32) sum += X[i] * Y[i];
  sums[threadIdx.x] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int t = 1; t < 32; ++t) sum += sums[t];
  *loss = sum;
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  dot_product_kernel_optimized<<<1, 32>>>(loss, X, Y, N);
}
