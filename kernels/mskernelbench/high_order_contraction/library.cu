// cuBLAS's answer to the task: both tensors are rearranged so that x and y stand together at the end, then one GEMM of
// (a, b) rows, c columns and (x, y) terms.
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

/** to[a][b][x][y] = A[a][x][b][y]. */
template <class T>
__global__ void arrange(const T* A, T* to, int b_dim, int x_dim, int y_dim, size_t n) {
  const size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const size_t y = i % y_dim, x = i / y_dim % x_dim, b = i / y_dim / x_dim % b_dim, a = i / y_dim / x_dim / b_dim;
  to[i] = A[((a * x_dim + x) * b_dim + b) * y_dim + y];
}

template <class T>
void contract(cudaDataType type, const T* A, const T* B, T* C, int a_dim, int b_dim, int c_dim, int x_dim, int y_dim) {
  const int terms = x_dim * y_dim, rows = a_dim * b_dim;
  const size_t sizeA = (size_t)rows * terms, sizeB = (size_t)c_dim * terms;
  T* const left = static_cast<T*>(workspace((sizeA + sizeB) * sizeof(T)));
  T* const right = left + sizeA;
  arrange<<<(unsigned)((sizeA + 255) / 256), 256>>>(A, left, b_dim, x_dim, y_dim, sizeA);
  arrange<<<(unsigned)((sizeB + 255) / 256), 256>>>(B, right, c_dim, x_dim, y_dim, sizeB);  // B[x][c][y] with one a
  const float one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(handle(), CUBLAS_OP_T, CUBLAS_OP_N, c_dim, rows, terms, &one, right, type, terms, left, type, terms, &zero,
                     C, type, c_dim, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}

}  // namespace

extern "C" void high_order_contraction_library(const float* A, const float* B, float* C, int a_dim, int b_dim, int c_dim, int x_dim,
                                               int y_dim) {
  contract(CUDA_R_32F, A, B, C, a_dim, b_dim, c_dim, x_dim, y_dim);
}

extern "C" void high_order_contraction_bf16_library(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int a_dim,
                                                    int b_dim, int c_dim, int x_dim, int y_dim) {
  contract(CUDA_R_16BF, A, B, C, a_dim, b_dim, c_dim, x_dim, y_dim);
}
