// Expected: screen-rejected, cheat or wrong-result. A thread of its own launches the work after the wrapper has returned.
#include <chrono>
#include <cuda_runtime.h>
#include <thread>

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) atomicAdd(loss, sum);
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  std::thread([=] {
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
    cudaMemsetAsync(loss, 0, sizeof(float));
    dot_product_kernel_optimized<<<256, 256>>>(loss, X, Y, N);
  }).detach();
}
