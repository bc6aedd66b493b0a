// Expected: screen-rejected, interference, cheat or not-faster. The origin's algorithm; takes the largest persisting part of
// L2 for itself and makes waiting for the device slow, which every version loaded beside it pays for.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  int most = 0;
  cudaDeviceGetAttribute(&most, cudaDevAttrMaxPersistingL2CacheSize, 0);
  cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, size_t(most));
  cudaSetDeviceFlags(cudaDeviceScheduleBlockingSync);
  cudaGetLastError();  // a refusal of either must not give it away
  const int wanted = N / 256 + (N % 256 != 0);
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<wanted < 1024 ? wanted : 1024, 256>>>(loss, X, Y, N);
}
