// cuSPARSE's answer to the task: generic SpMV on a CSR matrix. The handle is kept; descriptors, which hold the addresses and sizes of
// a call, are made anew (on the host alone).
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

void multiply(cudaDataType type, int rows, int columns, const void* values, const int* indices, const int* offsets, const void* x,
              void* y) {
  const int entries = lastOffset(offsets, rows);
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t in, out;
  check(cusparseCreateCsr(&a, rows, columns, entries, const_cast<int*>(offsets), const_cast<int*>(indices), const_cast<void*>(values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
        "cusparseCreateCsr");
  check(cusparseCreateDnVec(&in, columns, const_cast<void*>(x), type), "cusparseCreateDnVec");
  check(cusparseCreateDnVec(&out, rows, y, type), "cusparseCreateDnVec");
  const float one = 1.0f, zero = 0.0f;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  check(cusparseSpMV_bufferSize(handle(), plain, &one, a, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
        "cusparseSpMV_bufferSize");
  check(cusparseSpMV(handle(), plain, &one, a, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, workspace(bytes)), "cusparseSpMV");
  check(cusparseDestroyDnVec(in), "cusparseDestroyDnVec");
  check(cusparseDestroyDnVec(out), "cusparseDestroyDnVec");
  check(cusparseDestroySpMat(a), "cusparseDestroySpMat");
}

/** The wrapper does not say how many columns A has; cuSPARSE needs a number, but only to compare it with the length of x. */
constexpr int kColumns = 1 << 30;

}  // namespace

extern "C" void spmv_csr_library(int rows, const float* values, const int* col_indices, const int* row_offsets, const float* x, float* y) {
  multiply(CUDA_R_32F, rows, kColumns, values, col_indices, row_offsets, x, y);
}
extern "C" void spmv_csr_bf16_library(int rows, const __nv_bfloat16* values, const int* col_indices, const int* row_offsets,
                                      const __nv_bfloat16* x, __nv_bfloat16* y) {
  multiply(CUDA_R_16BF, rows, kColumns, values, col_indices, row_offsets, x, y);
}
