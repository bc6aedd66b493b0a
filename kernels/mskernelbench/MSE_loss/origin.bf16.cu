// Mean squared error of bf16 vectors with fp32 accumulation and an fp32 result, naive: one global atomic per thread, and a
// kernel of one thread that divides by N.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void MSE_loss_kernel_bf16(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, int N) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < N; i += stride) {
    const float difference = __bfloat162float(X[i]) - __bfloat162float(Y[i]);
    sum += difference * difference;
  }
  atomicAdd(loss, sum);
}

__global__ void MSE_loss_mean_kernel_bf16(float* loss, int N) { *loss /= float(N); }

extern "C" void MSE_loss_bf16(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, const int N) {
  const int threads = 256;
  const int wanted = N / threads + (N % threads != 0);
  const int blocks = wanted < 1024 ? wanted : 1024;
  cudaMemsetAsync(loss, 0, sizeof(float));  // the result is overwritten, not added to
  MSE_loss_kernel_bf16<<<blocks, threads>>>(loss, X, Y, N);
  MSE_loss_mean_kernel_bf16<<<1, 1>>>(loss, N);
}
