// Hinge loss of every sample, bf16 predictions and losses with fp32 arithmetic, naive: one thread per sample.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void hinge_loss_kernel_bf16(__nv_bfloat16* loss, const __nv_bfloat16* predictions, const int* targets, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float label = targets[i] == 1 ? 1.0f : -1.0f;
  const float margin = fmaxf(0.0f, 1.0f - label * __bfloat162float(predictions[i]));
  loss[i] = __float2bfloat16_rn(margin);
}

extern "C" void hinge_loss_bf16(__nv_bfloat16* loss, const __nv_bfloat16* predictions, const int* targets, int N) {
  const int threads = 1024;
  const int blocks = N / threads + (N % threads != 0);
  hinge_loss_kernel_bf16<<<blocks, threads>>>(loss, predictions, targets, N);
}
