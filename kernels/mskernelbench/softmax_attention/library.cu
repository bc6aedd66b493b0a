// cuBLAS's answer to the task: GEMMs for scores (in fp32) and results, and a softmax of one block per row between them, which
// writes the weights in the type of V.
#include <cublas_v2.h>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

namespace {

void check(cublasStatus_t status, const char* what) {
  if (status == CUBLAS_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cublasGetStatusString(status));
  std::abort();
}

/** Kept between calls; the default math mode uses no TF32. */
cublasHandle_t handle() {
  static cublasHandle_t made = [] {
    cublasHandle_t h;
    check(cublasCreate(&h), "cublasCreate");
    // By default the parts of a split sum may be added in bf16.
    const int math = CUBLAS_DEFAULT_MATH | CUBLAS_MATH_DISALLOW_REDUCED_PRECISION_REDUCTION;
    check(cublasSetMathMode(h, static_cast<cublasMath_t>(math)), "cublasSetMathMode");
    return h;
  }();
  return made;
}

/** Memory of one call; it grows and stays, its content does not outlive the call. */
void* workspace(size_t bytes) {
  static void* memory = nullptr;
  static size_t capacity = 0;
  if (bytes > capacity) {
    cudaFree(memory);
    if (cudaMalloc(&memory, bytes) != cudaSuccess) {
      std::fprintf(stderr, "no memory for a workspace of %zu bytes\n", bytes);
      std::abort();
    }
    capacity = bytes;
  }
  return memory;
}

__device__ void put(float* p, float v) { *p = v; }
__device__ void put(__nv_bfloat16* p, float v) { *p = __float2bfloat16_rn(v); }

/** Maximum (or sum) over a block of 256 threads; every thread gets it. */
template <bool MAXIMUM>
__device__ float reduced(float v) {
  __shared__ float part[256];
  __syncthreads();  // the last call's values have been read
  part[threadIdx.x] = v;
  __syncthreads();
  for (int step = 128; step > 0; step >>= 1) {
    if (threadIdx.x < step) {
      const float other = part[threadIdx.x + step];
      part[threadIdx.x] = MAXIMUM ? fmaxf(part[threadIdx.x], other) : part[threadIdx.x] + other;
    }
    __syncthreads();
  }
  return part[0];
}

template <class T>
__global__ void softmax_rows(const float* S, T* P, int columns) {
  const float* s = S + (size_t)blockIdx.x * columns;
  T* p = P + (size_t)blockIdx.x * columns;
  float maximum = -INFINITY;
  for (int j = threadIdx.x; j < columns; j += 256) maximum = fmaxf(maximum, s[j]);
  maximum = reduced<true>(maximum);
  float sum = 0.0f;
  for (int j = threadIdx.x; j < columns; j += 256) sum += expf(s[j] - maximum);
  const float inverse = 1.0f / reduced<false>(sum);
  for (int j = threadIdx.x; j < columns; j += 256) put(p + j, expf(s[j] - maximum) * inverse);
}

template <class T>
void attention(cudaDataType type, T* Y, const T* Q, const T* K, const T* V, int rows, int keys, int dim_qk, int dim_v) {
  const size_t n = (size_t)rows * keys;
  float* const S = static_cast<float*>(workspace(n * (sizeof(float) + sizeof(T))));
  T* const P = reinterpret_cast<T*>(S + n);
  const float scale = 1.0f / sqrtf((float)dim_qk), one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(handle(), CUBLAS_OP_T, CUBLAS_OP_N, keys, rows, dim_qk, &scale, K, type, dim_qk, Q, type, dim_qk, &zero, S,
                     CUDA_R_32F, keys, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx for the scores");
  softmax_rows<<<rows, 256>>>(S, P, keys);
  check(cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, dim_v, rows, keys, &one, V, type, dim_v, P, type, keys, &zero, Y, type,
                     dim_v, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx for the results");
}

}  // namespace

extern "C" void softmax_attention_library(float* Y, const float* Q, const float* K, const float* V, int q_seq_len, int kv_seq_len,
                                          int dim_qk, int dim_v) {
  attention(CUDA_R_32F, Y, Q, K, V, q_seq_len, kv_seq_len, dim_qk, dim_v);
}

extern "C" void softmax_attention_bf16_library(__nv_bfloat16* Y, const __nv_bfloat16* Q, const __nv_bfloat16* K,
                                               const __nv_bfloat16* V, int q_seq_len, int kv_seq_len, int dim_qk, int dim_v) {
  attention(CUDA_R_16BF, Y, Q, K, V, q_seq_len, kv_seq_len, dim_qk, dim_v);
}
