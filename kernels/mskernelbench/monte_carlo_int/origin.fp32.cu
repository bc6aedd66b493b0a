// Integral from samples, naive: every thread adds its samples to one sum with a global atomic, and a kernel of one thread scales it.
#include <cuda_runtime.h>

__global__ void monte_carlo_int_kernel(float* total, const float* y_samples, int N) {
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x; i < N; i += stride) {
    sum += y_samples[i];
  }
  atomicAdd(total, sum);
}

__global__ void monte_carlo_int_finish_kernel(float* result, float a, float b, int N) {
  const float integral = (b - a) * *result / float(N);
  *result = integral;
}

extern "C" void monte_carlo_int(const float* y_samples, float* result, float a, float b, int N) {
  const int threads = 256;
  const int wanted = N / threads + (N % threads != 0);
  const int blocks = wanted < 1024 ? wanted : 1024;
  cudaMemsetAsync(result, 0, sizeof(float));
  monte_carlo_int_kernel<<<blocks, threads>>>(result, y_samples, N);
  monte_carlo_int_finish_kernel<<<1, 1>>>(result, a, b, N);
}
