// cuFFT's answer to the task: a complex-to-complex transform in fp32. cuFFT wants real and imaginary parts interleaved, so two small
// kernels pack the signal and take the spectrum apart. The plan of the last length is kept.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cufft.h>

#include <cstdio>
#include <cstdlib>

namespace {

void check(cufftResult result, const char* what) {
  if (result == CUFFT_SUCCESS) return;
  std::fprintf(stderr, "%s: cufftResult %d\n", what, int(result));
  std::abort();
}

/** Plan and signal for transforms of length N. */
struct Transform {
  int length = 0;
  cufftHandle plan = 0;
  cufftComplex* signal = nullptr;

  void prepare(int N) {
    if (N == length) return;
    if (length > 0) {
      check(cufftDestroy(plan), "cufftDestroy");
      cudaFree(signal);
      signal = nullptr;
    }
    check(cufftPlan1d(&plan, N, CUFFT_C2C, 1), "cufftPlan1d");
    length = cudaMalloc(&signal, size_t(N) * sizeof(cufftComplex)) == cudaSuccess ? N : 0;
  }
};

__device__ float load(float v) { return v; }
__device__ float load(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void store(float* out, float v) { *out = v; }
__device__ void store(__nv_bfloat16* out, float v) { *out = __float2bfloat16_rn(v); }

template <class T>
__global__ void pack_kernel(const T* real, const T* img, cufftComplex* signal, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) signal[i] = make_float2(load(real[i]), load(img[i]));
}

template <class T>
__global__ void unpack_kernel(const cufftComplex* signal, T* real, T* img, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  const cufftComplex x = signal[i];
  store(real + i, x.x);
  store(img + i, x.y);
}

template <class T>
void transform(const T* inReal, const T* inImg, T* outReal, T* outImg, int N) {
  static Transform t;
  t.prepare(N);
  const int threads = 256;
  const int blocks = N / threads + (N % threads != 0);
  pack_kernel<<<blocks, threads>>>(inReal, inImg, t.signal, N);
  check(cufftExecC2C(t.plan, t.signal, t.signal, CUFFT_FORWARD), "cufftExecC2C");
  unpack_kernel<<<blocks, threads>>>(t.signal, outReal, outImg, N);
}

}  // namespace

extern "C" void FFT_library(const float* input_real, const float* input_img, float* output_real, float* output_img, int N) {
  transform(input_real, input_img, output_real, output_img, N);
}
extern "C" void FFT_bf16_library(const __nv_bfloat16* input_real, const __nv_bfloat16* input_img, __nv_bfloat16* output_real,
                                 __nv_bfloat16* output_img, int N) {
  transform(input_real, input_img, output_real, output_img, N);
}
