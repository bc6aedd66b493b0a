// Layer normalisation of one vector, naive: four launches. Every thread adds its partial sum to one number with a
// global atomic, first for the mean, then for the variance; the last launch normalises. Arithmetic in fp32; each result
// is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

/** Sum of the elements and sum of the squared deviations of the call under way. */
__device__ float layer_norm_sum_bf16, layer_norm_squares_bf16;

__global__ void layer_norm_reset_kernel_bf16() {
  layer_norm_sum_bf16 = 0.0f;
  layer_norm_squares_bf16 = 0.0f;
}

__global__ void layer_norm_mean_kernel_bf16(const __nv_bfloat16* input, int N) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= N) return;
  const long long stride = (long long)gridDim.x * blockDim.x;
  float sum = 0.0f;
  for (long long i = first; i < N; i += stride) sum += __bfloat162float(input[i]);
  atomicAdd(&layer_norm_sum_bf16, sum);
}

__global__ void layer_norm_variance_kernel_bf16(const __nv_bfloat16* input, int N) {
  const long long first = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (first >= N) return;
  const long long stride = (long long)gridDim.x * blockDim.x;
  const float mean = layer_norm_sum_bf16 / N;
  float squares = 0.0f;
  for (long long i = first; i < N; i += stride) {
    const float deviation = __bfloat162float(input[i]) - mean;
    squares += deviation * deviation;
  }
  atomicAdd(&layer_norm_squares_bf16, squares);
}

__global__ void layer_norm_kernel_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* weight,
                                       const __nv_bfloat16* bias, float epsilon, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const float mean = layer_norm_sum_bf16 / N;
  const float inverse = 1.0f / sqrtf(layer_norm_squares_bf16 / N + epsilon);
  output[i] = __float2bfloat16_rn(__bfloat162float(weight[i]) * ((__bfloat162float(input[i]) - mean) * inverse) +
                                  __bfloat162float(bias[i]));
}

extern "C" void layer_norm_bf16(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* weight,
                                const __nv_bfloat16* bias, const float epsilon, const int N) {
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  // Few enough partial sums to be added one by one in fp32.
  const int summing = blocks < 4 ? blocks : 4;
  layer_norm_reset_kernel_bf16<<<1, 1>>>();
  layer_norm_mean_kernel_bf16<<<summing, threads>>>(input, N);
  layer_norm_variance_kernel_bf16<<<summing, threads>>>(input, N);
  layer_norm_kernel_bf16<<<blocks, threads>>>(output, input, weight, bias, epsilon, N);
}
