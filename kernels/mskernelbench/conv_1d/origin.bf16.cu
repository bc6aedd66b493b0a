// One-dimensional convolution in bf16 with fp32 accumulation, naive: one thread per result reads its whole window and the
// whole filter from global memory; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void conv_1d_kernel_bf16(const __nv_bfloat16* input, const __nv_bfloat16* kernel, __nv_bfloat16* output, int output_size, int kernel_size) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= output_size) return;
  float sum = 0.0f;
  for (int k = 0; k < kernel_size; ++k) sum += __bfloat162float(input[i + k]) * __bfloat162float(kernel[k]);
  output[i] = __float2bfloat16_rn(sum);
}

extern "C" void conv_1d_bf16(const __nv_bfloat16* input, const __nv_bfloat16* kernel, __nv_bfloat16* output, int input_size, int kernel_size) {
  const int output_size = input_size - kernel_size + 1;
  const int threads = 256;
  const int blocks = output_size / threads + (output_size % threads != 0);
  conv_1d_kernel_bf16<<<blocks, threads>>>(input, kernel, output, output_size, kernel_size);
}
