// CUB's answer to the task: all pairs by radix sort, which is stable; the first k are copied.
#include <cub/device/device_radix_sort.cuh>
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

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

/** Bytes rounded up, so that what follows is aligned. */
size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

__global__ void count_kernel(int* indices, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i < N) indices[i] = int(i);
}

template <class T>
void topK(T* values, int* indices, const T* input, int N, int k) {
  size_t bytes = 0;
  cub::DeviceRadixSort::SortPairsDescending(nullptr, bytes, input, values, indices, indices, N);
  const size_t valueBytes = aligned(size_t(N) * sizeof(T)), indexBytes = aligned(size_t(N) * sizeof(int));
  char* memory = static_cast<char*>(workspace(valueBytes + 2 * indexBytes + bytes));
  T* sortedValues = reinterpret_cast<T*>(memory);
  int* counted = reinterpret_cast<int*>(memory + valueBytes);
  int* sortedIndices = reinterpret_cast<int*>(memory + valueBytes + indexBytes);
  const int threads = 256;
  count_kernel<<<N / threads + (N % threads != 0), threads>>>(counted, N);
  cub::DeviceRadixSort::SortPairsDescending(memory + valueBytes + 2 * indexBytes, bytes, input, sortedValues, counted, sortedIndices, N);
  cudaMemcpyAsync(values, sortedValues, size_t(k) * sizeof(T), cudaMemcpyDeviceToDevice);
  cudaMemcpyAsync(indices, sortedIndices, size_t(k) * sizeof(int), cudaMemcpyDeviceToDevice);
}

}  // namespace

extern "C" void top_k_library(float* top_k_values, int* top_k_indices, const float* input, const int N, const int k) {
  topK(top_k_values, top_k_indices, input, N, k);
}
extern "C" void top_k_bf16_library(__nv_bfloat16* top_k_values, int* top_k_indices, const __nv_bfloat16* input, const int N,
                                   const int k) {
  topK(top_k_values, top_k_indices, input, N, k);
}
