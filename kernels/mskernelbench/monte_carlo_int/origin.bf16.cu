// Integral from bf16 samples with fp32 accumulation, naive: one global atomic per thread, and a kernel of one thread that scales
// the sum and rounds it to bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

/** The sum of a call on its way to the result. */
__device__ float sum_of_call;

__global__ void monte_carlo_int_kernel_bf16(const __nv_bfloat16* y_samples, int N) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < N; i += stride) {
    sum += __bfloat162float(y_samples[i]);
  }
  atomicAdd(&sum_of_call, sum);
}

__global__ void monte_carlo_int_finish_kernel_bf16(__nv_bfloat16* result, float a, float b, int N) {
  const float integral = (b - a) * sum_of_call / float(N);
  *result = __float2bfloat16_rn(integral);
}

extern "C" void monte_carlo_int_bf16(const __nv_bfloat16* y_samples, __nv_bfloat16* result, float a, float b, int N) {
  const int threads = 256;
  const int wanted = N / threads + (N % threads != 0);
  const int blocks = wanted < 1024 ? wanted : 1024;
  void* total = nullptr;
  cudaGetSymbolAddress(&total, sum_of_call);
  cudaMemsetAsync(total, 0, sizeof(float));
  monte_carlo_int_kernel_bf16<<<blocks, threads>>>(y_samples, N);
  monte_carlo_int_finish_kernel_bf16<<<1, 1>>>(result, a, b, N);
}
