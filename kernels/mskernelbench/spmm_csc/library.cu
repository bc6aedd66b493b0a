// cuSPARSE's answer to the task: generic SpMM on a CSC matrix, row-major dense matrices. The handle is kept; descriptors, which hold
// the addresses and sizes of a call, are made anew (on the host alone). BF16: cuSPARSE adds the columns' products straight into Y, rounding
// each partial sum to its type (seen on an H200: 40 % of the elements beyond the limit), so it gets an fp32 Y, rounded once at the end.
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
 * zeros in X. Small matrices alone need it.
 */
void addColumns(cudaDataType type, int rows, int K, int entries, int& columns, const int*& offsets, const void*& X) {
  static Room longer, wider;
  const int wanted = entries / rows + 1;
  const size_t size = (type == CUDA_R_32F ? 4 : 2) * size_t(K);
  int* ends = static_cast<int*>(longer.get((size_t(wanted) + 1) * sizeof(int)));
  char* values = static_cast<char*>(wider.get(wanted * size));
  const std::vector<int> more(size_t(wanted - columns), entries);
  cudaMemcpy(ends, offsets, (size_t(columns) + 1) * sizeof(int), cudaMemcpyDeviceToDevice);
  cudaMemcpy(ends + columns + 1, more.data(), more.size() * sizeof(int), cudaMemcpyHostToDevice);
  cudaMemcpy(values, X, columns * size, cudaMemcpyDeviceToDevice);
  cudaMemset(values + columns * size, 0, (wanted - columns) * size);
  columns = wanted, offsets = ends, X = values;
}

__global__ void roundKernel(const float* sums, size_t count, __nv_bfloat16* Y) {
  const size_t i = size_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i < count) Y[i] = __float2bfloat16_rn(sums[i]);
}

/** Y in fp32, whatever the type of the matrix and of X. */
void multiply(cudaDataType type, int rows, int columns, int K, const void* values, const int* indices, const int* offsets,
              const void* X, float* Y) {
  static Room room;
  const int entries = lastOffset(offsets, columns);
  if (entries > static_cast<long long>(rows) * columns) addColumns(type, rows, K, entries, columns, offsets, X);
  cusparseSpMatDescr_t a;
  cusparseDnMatDescr_t x, y;
  check(cusparseCreateCsc(&a, rows, columns, entries, const_cast<int*>(offsets), const_cast<int*>(indices), const_cast<void*>(values),
                          CUSPARSE_INDEX_32I, CUSPARSE_INDEX_32I, CUSPARSE_INDEX_BASE_ZERO, type),
        "cusparseCreateCsc");
  check(cusparseCreateDnMat(&x, columns, K, K, const_cast<void*>(X), type, CUSPARSE_ORDER_ROW), "cusparseCreateDnMat");
  check(cusparseCreateDnMat(&y, rows, K, K, Y, CUDA_R_32F, CUSPARSE_ORDER_ROW), "cusparseCreateDnMat");
  const float one = 1.0f, zero = 0.0f;
  const cusparseOperation_t plain = CUSPARSE_OPERATION_NON_TRANSPOSE;
  const cusparseSpMMAlg_t algorithm = CUSPARSE_SPMM_ALG_DEFAULT;
  size_t bytes = 0;
  check(cusparseSpMM_bufferSize(handle(), plain, plain, &one, a, x, &zero, y, CUDA_R_32F, algorithm, &bytes), "cusparseSpMM_bufferSize");
  check(cusparseSpMM(handle(), plain, plain, &one, a, x, &zero, y, CUDA_R_32F, algorithm, room.get(bytes)), "cusparseSpMM");
  check(cusparseDestroyDnMat(x), "cusparseDestroyDnMat");
  check(cusparseDestroyDnMat(y), "cusparseDestroyDnMat");
  check(cusparseDestroySpMat(a), "cusparseDestroySpMat");
}

}  // namespace

extern "C" void spmm_csc_library(int rows, int columns, int K, const float* values, const int* row_indices, const int* col_offsets,
                                 const float* X, float* Y) {
  multiply(CUDA_R_32F, rows, columns, K, values, row_indices, col_offsets, X, Y);
}
extern "C" void spmm_csc_bf16_library(int rows, int columns, int K, const __nv_bfloat16* values, const int* row_indices, const int* col_offsets,
                                 const __nv_bfloat16* X, __nv_bfloat16* Y) {
  static Room room;
  const size_t count = size_t(rows) * K;
  float* sums = static_cast<float*>(room.get(count * sizeof(float)));
  multiply(CUDA_R_16BF, rows, columns, K, values, row_indices, col_offsets, X, sums);
  roundKernel<<<unsigned((count + 255) / 256), 256>>>(sums, count, Y);
}
