// One-dimensional convolution (cross-correlation, no padding), naive: one thread per result reads its whole window and the
// whole filter from global memory, although neighbours share all but one element.
#include <cuda_runtime.h>

__global__ void conv_1d_kernel(const float* input, const float* kernel, float* output, int output_size, int kernel_size) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= output_size) return;
  float sum = 0.0f;
  for (int k = 0; k < kernel_size; ++k) sum += input[i + k] * kernel[k];
  output[i] = sum;
}

extern "C" void conv_1d(const float* input, const float* kernel, float* output, int input_size, int kernel_size) {
  const int output_size = input_size - kernel_size + 1;
  const int threads = 256;
  const int blocks = output_size / threads + (output_size % threads != 0);
  conv_1d_kernel<<<blocks, threads>>>(input, kernel, output, output_size, kernel_size);
}
