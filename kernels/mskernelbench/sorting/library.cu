// CUB's answer to the task: radix sort.
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

template <class T>
void sort(T* data, int N) {
  size_t bytes = 0;
  cub::DoubleBuffer<T> keys(data, data);
  cub::DeviceRadixSort::SortKeys(nullptr, bytes, keys, N);
  const size_t copy = aligned(size_t(N) * sizeof(T));
  char* memory = static_cast<char*>(workspace(copy + bytes));
  keys = cub::DoubleBuffer<T>(data, reinterpret_cast<T*>(memory));
  cub::DeviceRadixSort::SortKeys(memory + copy, bytes, keys, N);
  if (keys.Current() != data) cudaMemcpyAsync(data, keys.Current(), size_t(N) * sizeof(T), cudaMemcpyDeviceToDevice);
}

}  // namespace

extern "C" void sorting_library(float* data, int N) { sort(data, N); }
extern "C" void sorting_bf16_library(__nv_bfloat16* data, int N) { sort(data, N); }
