// Discrete Fourier transform of one signal, naive: radix-2 decimation in time with one small kernel per stage, each of which reads
// and writes the whole signal and computes its twiddle factors anew.
#include <cuda_runtime.h>

/** Copies the signal into bit-reversed order. */
__global__ void FFT_reverse_kernel(const float* input_real, const float* input_img, float* real, float* img, unsigned N, int bits) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const unsigned from = bits == 0 ? 0 : __brev(unsigned(i)) >> (32 - bits);
  real[i] = input_real[from];
  img[i] = input_img[from];
}

/** One pass of butterflies between elements that are `half` apart, in place. */
__global__ void FFT_stage_kernel(float* real, float* img, unsigned N, unsigned half) {
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

extern "C" void FFT(const float* input_real, const float* input_img, float* output_real, float* output_img, int N) {
  int bits = 0;
  while ((1ll << bits) < N) ++bits;
  const int threads = 256;
  const unsigned blocks = unsigned((N + (long long)threads - 1) / threads);
  const unsigned stageBlocks = unsigned((N / 2 + (long long)threads - 1) / threads);
  FFT_reverse_kernel<<<blocks, threads>>>(input_real, input_img, output_real, output_img, unsigned(N), bits);
  for (long long half = 1; half < N; half *= 2) {
    FFT_stage_kernel<<<stageBlocks, threads>>>(output_real, output_img, unsigned(N), unsigned(half));
  }
}
