// Cross entropy of two distributions, naive: every thread adds its terms to the one result with a global atomic.
#include <cuda_runtime.h>

__global__ void cross_entropy_loss_kernel(float* loss, const float* X, const float* Y, int C) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < C; i += stride) {
    sum -= Y[i] * logf(fmaxf(X[i], 1e-8f));
  }
  atomicAdd(loss, sum);
}

extern "C" void cross_entropy_loss(float* loss, const float* X, const float* Y, const int C) {
  const int threads = 256;
  const int wanted = C / threads + (C % threads != 0);
  const int blocks = wanted < 1024 ? wanted : 1024;
  cudaMemsetAsync(loss, 0, sizeof(float));  // the result is overwritten, not added to
  cross_entropy_loss_kernel<<<blocks, threads>>>(loss, X, Y, C);
}
