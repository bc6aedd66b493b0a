// cuBLAS's answer to the task. FP32: cublasSdot. BF16: cublasDotEx would round the result to bf16, so the product of a row and a
// column, with fp32 accumulation and an fp32 result.
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

extern "C" void dot_product_library(float* loss, const float* X, const float* Y, const int N) {
  check(cublasSetPointerMode(handle(), CUBLAS_POINTER_MODE_DEVICE), "cublasSetPointerMode");  // where the result lies
  check(cublasSdot(handle(), N, X, 1, Y, 1, loss), "cublasSdot");
}

extern "C" void dot_product_bf16_library(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, const int N) {
  const float one = 1.0f, zero = 0.0f;
  check(cublasGemmEx(handle(), CUBLAS_OP_T, CUBLAS_OP_N, 1, 1, N, &one, X, CUDA_R_16BF, N, Y, CUDA_R_16BF, N, &zero, loss, CUDA_R_32F,
                     1, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT),
        "cublasGemmEx");
}
