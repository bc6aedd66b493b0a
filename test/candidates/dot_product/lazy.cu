// Expected: wrong-result or runtime-error. Remembers its arguments and does the work at the next call, when the timer of the first has stopped.
#include <cuda_runtime.h>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  static float* pendingLoss = nullptr;
  static const float* pendingX = nullptr;
  static const float* pendingY = nullptr;
  static int pendingN = 0;
  if (pendingLoss != nullptr) {
    cudaMemsetAsync(pendingLoss, 0, sizeof(float));
    dot_product_kernel_optimized<<<256, 256>>>(pendingLoss, pendingX, pendingY, pendingN);
  }
  pendingLoss = loss;
  pendingX = X;
  pendingY = Y;
  pendingN = N;
}
