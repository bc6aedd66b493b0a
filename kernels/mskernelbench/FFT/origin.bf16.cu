// Discrete Fourier transform of one bf16 signal in fp32 arithmetic, naive: radix-2 decimation in time with one small kernel per
// stage; the result is rounded to bf16 once, at the end.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

/** Copies the signal into bit-reversed order. */
__global__ void FFT_reverse_kernel_bf16(const __nv_bfloat16* input_real, const __nv_bfloat16* input_img, float* real, float* img, unsigned N, int bits) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const unsigned from = bits == 0 ? 0 : __brev(unsigned(i)) >> (32 - bits);
  real[i] = __bfloat162float(input_real[from]);
  img[i] = __bfloat162float(input_img[from]);
}

/** One pass of butterflies between elements that are `half` apart, in place. */
__global__ void FFT_stage_kernel_bf16(float* real, float* img, unsigned N, unsigned half) {
  const long long j = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (j >= N / 2) return;
  const unsigned k = unsigned(j) & (half - 1);
  const unsigned low = (unsigned(j) - k) * 2 + k, high = low + half;
  float sine, cosine;
  sincospif(-float(k) / float(half), &sine, &cosine);
  const float r = real[high] * cosine - img[high] * sine;
  const float i = real[high] * sine + img[high] * cosine;
  real[high] = real[low] - r;
  img[high] = img[low] - i;
  real[low] += r;
  img[low] += i;
}

__global__ void FFT_round_kernel_bf16(const float* real, const float* img, __nv_bfloat16* output_real, __nv_bfloat16* output_img,
                                      unsigned N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  output_real[i] = __float2bfloat16_rn(real[i]);
  output_img[i] = __float2bfloat16_rn(img[i]);
}

/** Memory of one call; it grows and stays, its content does not outlive the call. */
static void* workspace(size_t bytes) {
  static void* memory = nullptr;
  static size_t capacity = 0;
  if (bytes > capacity) {
    cudaFree(memory);
    capacity = cudaMalloc(&memory, bytes) == cudaSuccess ? bytes : 0;
    if (capacity == 0) memory = nullptr;
  }
  return memory;
}

extern "C" void FFT_bf16(const __nv_bfloat16* input_real, const __nv_bfloat16* input_img, __nv_bfloat16* output_real,
                         __nv_bfloat16* output_img, int N) {
  float* real = static_cast<float*>(workspace(size_t(N) * 2 * sizeof(float)));
  float* img = real + N;
  int bits = 0;
  while ((1ll << bits) < N) ++bits;
  const int threads = 256;
  const unsigned blocks = unsigned((N + (long long)threads - 1) / threads);
  const unsigned stageBlocks = unsigned((N / 2 + (long long)threads - 1) / threads);
  FFT_reverse_kernel_bf16<<<blocks, threads>>>(input_real, input_img, real, img, unsigned(N), bits);
  for (long long half = 1; half < N; half *= 2) {
    FFT_stage_kernel_bf16<<<stageBlocks, threads>>>(real, img, unsigned(N), unsigned(half));
  }
  FFT_round_kernel_bf16<<<blocks, threads>>>(real, img, output_real, output_img, unsigned(N));
}
