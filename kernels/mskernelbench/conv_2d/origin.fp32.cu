// Two-dimensional convolution (cross-correlation, one channel, no padding), naive: one thread per result in 16 x 16 blocks
// reads its whole window and the whole filter from global memory.
#include <cuda_runtime.h>

__global__ void conv_2d_kernel(const float* input, const float* kernel, float* output, int input_cols, int kernel_rows,
                               int kernel_cols, int output_rows, int output_cols) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= output_cols) return;
  // The grid's second extent is limited to 65535 blocks; taller inputs take more than one step.
  const long long step = (long long)gridDim.y * blockDim.y;
  for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < output_rows; row += step) {
    float sum = 0.0f;
    for (int i = 0; i < kernel_rows; ++i) {
      for (int j = 0; j < kernel_cols; ++j) {
        sum += input[(row + i) * input_cols + column + j] * kernel[i * kernel_cols + j];
      }
    }
    output[row * output_cols + column] = sum;
  }
}

extern "C" void conv_2d(const float* input, const float* kernel, float* output, int input_rows, int input_cols, int kernel_rows,
                        int kernel_cols) {
  const int output_rows = input_rows - kernel_rows + 1;
  const int output_cols = input_cols - kernel_cols + 1;
  const int edge = 16;
  const int wide = output_cols / edge + (output_cols % edge != 0);
  const int high = output_rows / edge + (output_rows % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(wide, high < 65535 ? high : 65535);
  conv_2d_kernel<<<blocks, threads>>>(input, kernel, output, input_cols, kernel_rows, kernel_cols, output_rows, output_cols);
}
