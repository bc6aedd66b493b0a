// Expected: accepted. A block per row; each thread keeps a running maximum and sum, merged by shuffles, then one more pass.
#include <cuda_runtime.h>

constexpr int kThreads = 256;

struct Running {
  float m, s;
};

__device__ Running merged(Running a, Running b) {
  const float m = fmaxf(a.m, b.m);
  // An empty part has s = 0 and m = -inf; the difference of two infinities must not get into the sum.
  const float s = (a.s == 0 ? 0.0f : a.s * expf(a.m - m)) + (b.s == 0 ? 0.0f : b.s * expf(b.m - m));
  return {m, s};
}

__device__ Running warpMerged(Running r, int lanes) {
  for (int d = lanes / 2; d > 0; d >>= 1) {
    const Running other = {__shfl_xor_sync(0xffffffffu, r.m, d), __shfl_xor_sync(0xffffffffu, r.s, d)};
    r = merged(r, other);
  }
  return r;
}

__global__ void softmax_kernel_optimized(float* __restrict__ out, const float* __restrict__ input, int C) {
  __shared__ float m[kThreads / 32], s[kThreads / 32];
  const float* in = input + size_t(blockIdx.x) * C;
  float* o = out + size_t(blockIdx.x) * C;
  Running r = {-INFINITY, 0.0f};
  for (int c = threadIdx.x; c < C; c += kThreads) r = merged(r, {in[c], 1.0f});
  r = warpMerged(r, 32);
  if (threadIdx.x % 32 == 0) {
    m[threadIdx.x / 32] = r.m;
    s[threadIdx.x / 32] = r.s;
  }
  __syncthreads();
  r = {m[threadIdx.x % (kThreads / 32)], s[threadIdx.x % (kThreads / 32)]};
  r = warpMerged(r, kThreads / 32);
  const float inverse = 1.0f / r.s;
  for (int c = threadIdx.x; c < C; c += kThreads) o[c] = expf(in[c] - r.m) * inverse;
}

extern "C" void softmax_optimized(float* out, const float* input, int N, int C) {
  softmax_kernel_optimized<<<N, kThreads>>>(out, input, C);
}
