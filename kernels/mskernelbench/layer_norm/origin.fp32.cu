// Layer normalisation of one vector, naive: four launches. Every thread adds its partial sum to one number with a
// global atomic, first for the mean, then for the variance; the last launch normalises.
#include <cuda_runtime.h>

/** Sum of the elements and sum of the squared deviations of the call under way. */
__device__ float layer_norm_sum, layer_norm_squares;

__global__ void layer_norm_reset_kernel() {
  layer_norm_sum = 0.0f;
  layer_norm_squares = 0.0f;
}

__global__ void layer_norm_mean_kernel(const float* input, int N) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= N) return;
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = first; i < N; i += stride) sum += input[i];
  atomicAdd(&layer_norm_sum, sum);
}

__global__ void layer_norm_variance_kernel(const float* input, int N) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= N) return;
  const long long stride = (long long)gridDim.x * blockDim.x;
  const float mean = layer_norm_sum / N;
  float squares = 0.0f;
  for (long long i = first; i < N; i += stride) {
    const float deviation = input[i] - mean;
    squares += deviation * deviation;
  }
  atomicAdd(&layer_norm_squares, squares);
}

__global__ void layer_norm_kernel(float* output, const float* input, const float* weight, const float* bias,
                                  float epsilon, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float mean = layer_norm_sum / N;
  const float inverse = 1.0f / sqrtf(layer_norm_squares / N + epsilon);
  output[i] = weight[i] * ((input[i] - mean) * inverse) + bias[i];
}

extern "C" void layer_norm(float* output, const float* input, const float* weight, const float* bias,
                           const float epsilon, const int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  // Few enough partial sums to be added one by one in fp32.
  const int summing = blocks < 4 ? blocks : 4;
  layer_norm_reset_kernel<<<1, 1>>>();
  layer_norm_mean_kernel<<<summing, threads>>>(input, N);
  layer_norm_variance_kernel<<<summing, threads>>>(input, N);
  layer_norm_kernel<<<blocks, threads>>>(output, input, weight, bias, epsilon, N);
}
