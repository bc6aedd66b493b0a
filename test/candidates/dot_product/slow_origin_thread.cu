// Expected: screen-rejected, cheat or interference. The origin's algorithm; a host thread keeps the SMs busy from the side,
// most of all while other versions are measured.
#include <chrono>
#include <cuda_runtime.h>
#include <thread>

__global__ void dot_product_burn_kernel_optimized(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

__global__ void dot_product_kernel_optimized(float* loss, const float* X, const float* Y, int N) {
  float sum = 0;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < N; i += gridDim.x * blockDim.x) sum += X[i] * Y[i];
  atomicAdd(loss, sum);
}

static volatile bool mine = false;

static void burn() {
  cudaStream_t side;
  cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking);
  for (;;) {
    if (!mine) dot_product_burn_kernel_optimized<<<132, 1024, 0, side>>>(40000);
    std::this_thread::sleep_for(std::chrono::microseconds(50));
  }
}

extern "C" void dot_product_optimized(float* loss, const float* X, const float* Y, const int N) {
  static bool started = false;
  mine = true;
  const int wanted = N / 256 + (N % 256 != 0);
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<wanted < 1024 ? wanted : 1024, 256>>>(loss, X, Y, N);
  if (!started) std::thread(burn).detach();
  started = true;
  mine = false;
}
