// Max pooling in bf16, naive: one thread per result in 16 x 16 blocks, one grid layer per plane; every thread reads its
// whole window although neighbouring windows overlap. A maximum is one of its operands, so nothing is rounded.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void max_pooling_2d_kernel_bf16(const __nv_bfloat16* input, __nv_bfloat16* output, long long planes, int H, int W, int kernel_size,
                                      int stride, int padding, int out_H, int out_W) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= out_H || column >= out_W) return;
  // The grid's third extent is limited to 65535; more planes take more than one step.
  for (long long plane = blockIdx.z; plane < planes; plane += gridDim.z) {
    const __nv_bfloat16* in = input + plane * H * W;
    float maximum = -INFINITY;
    for (int i = 0; i < kernel_size; ++i) {
      const long long h = row * stride - padding + i;
      if (h < 0 || h >= H) continue;
      for (int j = 0; j < kernel_size; ++j) {
        const long long w = column * stride - padding + j;
        if (w >= 0 && w < W) maximum = fmaxf(maximum, __bfloat162float(in[h * W + w]));
      }
    }
    output[(plane * out_H + row) * out_W + column] = __float2bfloat16_rn(maximum);
  }
}

extern "C" void max_pooling_2d_bf16(const __nv_bfloat16* input, __nv_bfloat16* output, int N, int C, int H, int W, int kernel_size, int stride,
                               int padding) {
  const int out_H = (H + 2 * padding - kernel_size) / stride + 1;
  const int out_W = (W + 2 * padding - kernel_size) / stride + 1;
  const long long planes = (long long)N * C;
  const int edge = 16;
  const dim3 threads(edge, edge);
  const dim3 blocks((out_W + edge - 1) / edge, (out_H + edge - 1) / edge, (unsigned)(planes < 65535 ? planes : 65535));
  max_pooling_2d_kernel_bf16<<<blocks, threads>>>(input, output, planes, H, W, kernel_size, stride, padding, out_H, out_W);
}
