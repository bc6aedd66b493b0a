// cuSPARSE's answer to the task: generic SpMM on a CSR matrix, row-major dense matrices. The handle is kept; descriptors, which hold
// the addresses and sizes of a call, are made anew (on the host alone).
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <cstdio>
#include <cstdlib>

namespace {

void check(cusparseStatus_t status, const char* what) {
  if (status == CUSPARSE_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cusparseGetErrorString(status));
  std::abort();
}

cusparseHandle_t handle() {
  static cusparseHandle_t made = [] {
    cusparseHandle_t h;
    check(cusparseCreate(&h), "cusparseCreate");
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
    capacity = cudaMalloc(&memory, bytes) == cudaSuccess ? bytes : 0;
    if (capacity == 0) memory = nullptr;
  }
  return memory;
}

/** Number of entries: the last offset. The wrapper has no parameter for it, so it must be read back. */
int lastOffset(const int* offsets, int count) {
  int value = 0;
  cudaMemcpy(&value, offsets + count, sizeof(int), cudaMemcpyDeviceToHost);
  return value;
}

void multiply(cudaDataType type, int rows, int columns, int K, const void* values, const int* indices, const int* offsets,
              const void* X, void* Y) {
  const int entries = lastOffset(offsets, rows);
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t x, y;
  check(cusparseCreateCsr(&a, rows, columns, entries, const_cast<int*>(offsets), const_cast<int*>(indices), const_cast<void*>(values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
        "cusparseCreateCsr");
  check(cusparseCreateDnMat(&x, columns, K, K, const_cast<void*>(X), type, CUSPARSE_ORDER_ROW), "cusparseCreateDnMat");
  check(cusparseCreateDnMat(&y, rows, K, K, Y, type, CUSPARSE_ORDER_ROW), "cusparseCreateDnMat");
  const float one = 1.0f, zero = 0.0f;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  // With ALG2, the quickest, one bf16 element in ten is wrong and repeated calls differ (NVIDIA H200), as of atomic adds in bf16.
  const cusparseSpMMAlg_t algorithm = type == CUDA_R_16BF ? CUSPARSE_SPMM_CSR_ALG3 : CUSPARSE_SPMM_CSR_ALG2;
  size_t bytes = 0;
  check(cusparseSpMM_bufferSize(handle(), plain, plain, &one, a, x, &zero, y, CUDA_R_32F, algorithm, &bytes), "cusparseSpMM_bufferSize");
  check(cusparseSpMM(handle(), plain, plain, &one, a, x, &zero, y, CUDA_R_32F, algorithm, workspace(bytes)), "cusparseSpMM");
  check(cusparseDestroyDnMat(x), "cusparseDestroyDnMat");
  check(cusparseDestroyDnMat(y), "cusparseDestroyDnMat");
  check(cusparseDestroySpMat(a), "cusparseDestroySpMat");
}

/** The wrapper does not say how many columns A has; cuSPARSE needs a number, but only to compare it with the rows of X. */
constexpr int kColumns = 1 << 30;

}  // namespace

extern "C" void spmm_csr_library(int rows, int K, const float* values, const int* col_indices, const int* row_offsets,
                                 const float* X, float* Y) {
  multiply(CUDA_R_32F, rows, kColumns, K, values, col_indices, row_offsets, X, Y);
}
extern "C" void spmm_csr_bf16_library(int rows, int K, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets,
                                 const __nv_bfloat16* X, __nv_bfloat16* Y) {
  multiply(CUDA_R_16BF, rows, kColumns, K, values, col_indices, row_offsets, X, Y);
}
