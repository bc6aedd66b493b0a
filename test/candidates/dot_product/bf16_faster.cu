// Expected: accepted. Eight bf16 numbers a load, fp32 accumulation, warp shuffles, one atomic per block.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

constexpr int kThreads = 256;

__device__ float pairSum(unsigned int x, unsigned int y, float sum) {
  const float2 a = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&x));
  const float2 b = __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162*>(&y));
  return fmaf(a.x, b.x, fmaf(a.y, b.y, sum));
}

__global__ void dot_product_kernel_optimized(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, int N) {
  __shared__ float warps[kThreads / 32];
  const uint4* x8 = reinterpret_cast<const uint4*>(X);
  const uint4* y8 = reinterpret_cast<const uint4*>(Y);
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  float a = 0, b = 0;
  for (int i = first; i < N / 8; i += gridDim.x * blockDim.x) {
    const uint4 x = x8[i], y = y8[i];
    a = pairSum(x.x, y.x, pairSum(x.y, y.y, a));
    b = pairSum(x.z, y.z, pairSum(x.w, y.w, b));
  }
  const int tail = N / 8 * 8 + first;
  if (tail < N) a = fmaf(__bfloat162float(X[tail]), __bfloat162float(Y[tail]), a);
  float sum = a + b;
  for (int d = 16; d > 0; d >>= 1) sum += __shfl_down_sync(0xffffffffu, sum, d);
  if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int w = 1; w < kThreads / 32; ++w) sum += warps[w];
  atomicAdd(loss, sum);
}

extern "C" void dot_product_bf16_optimized(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, const int N) {
  const int wanted = (N / 8 + kThreads) / kThreads;
  cudaMemsetAsync(loss, 0, sizeof(float));
  dot_product_kernel_optimized<<<wanted < 512 ? wanted : 512, kThreads>>>(loss, X, Y, N);
}
