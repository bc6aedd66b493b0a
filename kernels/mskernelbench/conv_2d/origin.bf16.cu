// Two-dimensional convolution in bf16 with fp32 accumulation, naive: one thread per result in 16 x 16 blocks reads its whole
// window and the whole filter from global memory; each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void conv_2d_kernel_bf16(const __nv_bfloat16* input, const __nv_bfloat16* kernel, __nv_bfloat16* output, int input_cols, int kernel_rows,
                               int kernel_cols, int output_rows, int output_cols) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= output_cols) return;
  // The grid's second extent is limited to 65535 blocks; taller inputs take more than one step.
  const long long step = (long long)gridDim.y * blockDim.y;
  for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < output_rows; row += step) {
    float sum = 0.0f;
    for (int i = 0; i < kernel_rows; ++i) {
      for (int j = 0; j < kernel_cols; ++j) {
        sum += __bfloat162float(input[(row + i) * input_cols + column + j]) * __bfloat162float(kernel[i * kernel_cols + j]);
      }
    }
    output[row * output_cols + column] = __float2bfloat16_rn(sum);
  }
}

extern "C" void conv_2d_bf16(const __nv_bfloat16* input, const __nv_bfloat16* kernel, __nv_bfloat16* output, int input_rows, int input_cols, int kernel_rows,
                        int kernel_cols) {
  const int output_rows = input_rows - kernel_rows + 1;
  const int output_cols = input_cols - kernel_cols + 1;
  const int edge = 16;
  const int wide = output_cols / edge + (output_cols % edge != 0);
  const int high = output_rows / edge + (output_rows % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(wide, high < 65535 ? high : 65535);
  conv_2d_kernel_bf16<<<blocks, threads>>>(input, kernel, output, input_cols, kernel_rows, kernel_cols, output_rows, output_cols);
}
