// cuBLAS's answer to the task: GEMV in fp32, and for bf16, which it does not take, a GEMM with one column.
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

}  // namespace

extern "C" void matrix_vector_mul_library(const float* A, const float* x, float* y, int M, int N) {
  const float one = 1.0f, zero = 0.0f;
  // Row-major M x N is column-major N x M, transposed.
  check(cublasSgemv(handle(), CUBLAS_OP_T, N, M, &one, A, N, x, 1, &zero, y, 1), "cublasSgemv");
}

extern "C" void matrix_vector_mul_bf16_library(const __nv_bfloat16* A, const __nv_bfloat16* x, __nv_bfloat16* y, int M, int N) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(handle(), CUBLAS_OP_T, CUBLAS_OP_N, M, 1, N, &one, A, CUDA_R_16BF, N, x, CUDA_R_16BF, N, &zero, y,
                     CUDA_R_16BF, M, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}
