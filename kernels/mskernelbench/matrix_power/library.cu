// cuBLAS's answer to the task: repeated squaring with GEMMs in fp32. A bf16 matrix is converted first and the result at the end,
// so that powers in between keep fp32.
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

/** Row-major C = A B, A m x k, B k x n; cuBLAS sees the transposed matrices, column-major. */
void product(cudaDataType type, const void* A, const void* B, void* C, int m, int n, int k) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(handle(), CUBLAS_OP_N, CUBLAS_OP_N, n, m, k, &one, B, type, n, A, type, k, &zero, C, type, n,
                     CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

__global__ void widen(const __nv_bfloat16* from, float* to, size_t n) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = __bfloat162float(from[i]);
}

__global__ void narrow(const float* from, __nv_bfloat16* to, size_t n) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) to[i] = __float2bfloat16_rn(from[i]);
}

/**
 * A^P, P >= 1, with room for four matrices.
 * @return where it stands: in the room, or A itself.
 */
const float* power(const float* A, float* room, int N, int P) {
  const size_t n = (size_t)N * N;
  float* const squares[2] = {room, room + n};
  float* const results[2] = {room + 2 * n, room + 3 * n};
  const float *square = A, *result = nullptr;
  int s = 0, r = 0;
  for (int p = P;; p >>= 1) {
    if (p == 1 && !result) return square;
    if (p & 1) {
      float* const next = results[r ^= 1];
      if (result) product(CUDA_R_32F, result, square, next, N, N, N);
      else cudaMemcpyAsync(next, square, n * sizeof(float), cudaMemcpyDeviceToDevice);  // its place is needed for a later square
      result = next;
    }
    if (p == 1) return result;
    float* const next = squares[s ^= 1];
    product(CUDA_R_32F, square, square, next, N, N, N);
    square = next;
  }
}

}  // namespace

extern "C" void matrix_power_library(const float* A, float* B, int N, int P) {
  const size_t n = (size_t)N * N;
  const float* result = power(A, static_cast<float*>(workspace(4 * n * sizeof(float))), N, P);
  cudaMemcpyAsync(B, result, n * sizeof(float), cudaMemcpyDeviceToDevice);
}

extern "C" void matrix_power_bf16_library(const __nv_bfloat16* A, __nv_bfloat16* B, int N, int P) {
  const size_t n = (size_t)N * N;
  const unsigned blocks = (unsigned)((n + 255) / 256);
  float* const room = static_cast<float*>(workspace(5 * n * sizeof(float)));
  widen<<<blocks, 256>>>(A, room + 4 * n, n);
  narrow<<<blocks, 256>>>(power(room + 4 * n, room, N, P), B, n);
}
