// Expected: cheat. The origin's algorithm on a stream that does not synchronise with the default one: two
// events on the default stream see nothing of it, the span over all streams sees it whole.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  static cudaStream_t side = nullptr;
  if (side == nullptr) cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  const int wanted = N / 256 + (N % 256 != 0);
  cudaMemsetAsync(loss, 0, sizeof(float), side);
  dot_product_kernel_optimized<<<wanted < 1024 ? wanted : 1024, 256, 0, side>>>(loss, X, Y, N);
}
