// Hinge loss of every sample, naive: one thread per sample.
#include <cuda_runtime.h>

__global__ void hinge_loss_kernel(float* loss, const float* predictions, const int* targets, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float label = targets[i] == 1 ? 1.0f : -1.0f;
  const float margin = fmaxf(0.0f, 1.0f - label * predictions[i]);
  loss[i] = margin;
}

extern "C" void hinge_loss(float* loss, const float* predictions, const int* targets, int N) {
  const int threads = 1024;
  const int blocks = N / threads + (N % threads != 0);
  hinge_loss_kernel<<<blocks, threads>>>(loss, predictions, targets, N);
}
