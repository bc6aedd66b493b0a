// cuSPARSE's answer to the task: generic SpMV on a CSC matrix. The handle is kept; descriptors, which hold the addresses and sizes of
// a call, are made anew (on the host alone).
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cusparse.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

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
struct Room {
  void* memory = nullptr;
  size_t capacity = 0;

  void* get(size_t bytes) {
    if (bytes > capacity) {
      cudaFree(memory);
      capacity = cudaMalloc(&memory, bytes) == cudaSuccess ? bytes : 0;
      if (capacity == 0) memory = nullptr;
    }
    return memory;
  }
};

/** Number of entries: the last offset. The wrapper has no parameter for it, so it must be read back. */
int lastOffset(const int* offsets, int count) {
  int value = 0;
  cudaMemcpy(&value, offsets + count, sizeof(int), cudaMemcpyDeviceToHost);
  return value;
}

/**
 * cuSPARSE takes no matrix with more entries than places, and repeated entries make such ones: empty columns are added at the end, with
 * zeros in x. Small matrices alone need it.
 */
void addColumns(cudaDataType type, int rows, int entries, int& columns, const int*& offsets, const void*& x) {
  static Room longer, wider;
  const int wanted = entries / rows + 1;
  const size_t size = (type == CUDA_R_32F ? 4 : 2);
  int* ends = static_cast<int*>(longer.get((size_t(wanted) + 1) * sizeof(int)));
  char* values = static_cast<char*>(wider.get(wanted * size));
  const std::vector<int> more(size_t(wanted - columns), entries);
  cudaMemcpy(ends, offsets, (size_t(columns) + 1) * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaMemcpy(ends + columns + 1, more.data(), more.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(values, x, columns * size, cudaMemcpyDeviceToDevice);
  cudaMemset(values + columns * size, 0, (wanted - columns) * size);
  columns = wanted, offsets = ends, x = values;
}

void multiply(cudaDataType type, int rows, int columns, const void* values, const int* indices, const int* offsets, const void* x,
              void* y) {
  static Room room;
  const int entries = lastOffset(offsets, columns);
  if (entries > static_cast<long long>(rows) * columns) addColumns(type, rows, entries, columns, offsets, x);
  cusparseSpMatDescr_t a;
  cusparseDnVecDescr_t in, out;
  check(cusparseCreateCsc(&a, rows, columns, entries, const_cast<int*>(offsets), const_cast<int*>(indices), const_cast<void*>(values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
        "cusparseCreateCsc");
  check(cusparseCreateDnVec(&in, columns, const_cast<void*>(x), type), "cusparseCreateDnVec");
  check(cusparseCreateDnVec(&out, rows, y, type), "cusparseCreateDnVec");
  const float one = 1.0f, zero = 0.0f;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  size_t bytes = 0;
  check(cusparseSpMV_bufferSize(handle(), plain, &one, a, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, &bytes),
        "cusparseSpMV_bufferSize");
  check(cusparseSpMV(handle(), plain, &one, a, in, &zero, out, CUDA_R_32F, CUSPARSE_SPMV_ALG_DEFAULT, room.get(bytes)), "cusparseSpMV");
  check(cusparseDestroyDnVec(in), "cusparseDestroyDnVec");
  check(cusparseDestroyDnVec(out), "cusparseDestroyDnVec");
  check(cusparseDestroySpMat(a), "cusparseDestroySpMat");
}

}  // namespace

extern "C" void spmv_csc_library(int rows, int columns, const float* values, const int* row_indices, const int* col_offsets,
                                 const float* x, float* y) {
  multiply(CUDA_R_32F, rows, columns, values, row_indices, col_offsets, x, y);
}
extern "C" void spmv_csc_bf16_library(int rows, int columns, const __nv_bfloat16* values, const int* row_indices,
                                      const int* col_offsets, const __nv_bfloat16* x, __nv_bfloat16* y) {
  multiply(CUDA_R_16BF, rows, columns, values, row_indices, col_offsets, x, y);
}
