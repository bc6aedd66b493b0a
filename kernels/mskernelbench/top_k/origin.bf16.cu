// The k largest bf16 numbers with their positions, naive: all N pairs are sorted (descending, stable) by a merge sort whose every
// merge is done by one thread, then the first k are copied.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void top_k_pairs_kernel_bf16(const __nv_bfloat16* input, __nv_bfloat16* values, int* indices, int N) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= N) return;
  values[i] = input[i];
  indices[i] = int(i);
}

/** Merges two descending runs per thread; of equal values the one of the left run, with the smaller index, comes first. */
__global__ void top_k_merge_kernel_bf16(const __nv_bfloat16* values, const int* indices, __nv_bfloat16* outValues, int* outIndices, long long N,
                                   long long width) {
  const long long begin = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 2 * width;
  if (begin >= N) return;
  const long long middle = begin + width < N ? begin + width : N;
  const long long end = middle + width < N ? middle + width : N;
  long long left = begin, right = middle;
  for (long long i = begin; i < end; ++i) {
    const bool takeLeft = left < middle && (right >= end || __bfloat162float(values[left]) >= __bfloat162float(values[right]));
    const long long taken = takeLeft ? left++ : right++;
    outValues[i] = values[taken];
    outIndices[i] = indices[taken];
  }
}

__global__ void top_k_copy_kernel_bf16(const __nv_bfloat16* values, const int* indices, __nv_bfloat16* top_k_values, int* top_k_indices, int k) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= k) return;
  top_k_values[i] = values[i];
  top_k_indices[i] = indices[i];
}

/** Memory of one call; it grows and stays, its content does not outlive the call. */
static void* workspace(size_t bytes) {
  static void* memory = nullptr;
  static size_t capacity = 0;
  if (bytes > capacity) {
    cudaFree(memory);
    capacity = cudaMalloc(&memory, bytes) == cudaSuccess ? bytes : 0;
    if (capacity == 0) memory = nullptr;
  }
  return memory;
}

extern "C" void top_k_bf16(__nv_bfloat16* top_k_values, int* top_k_indices, const __nv_bfloat16* input, const int N, const int k) {
  const int threads = 256;
  int* indices = static_cast<int*>(workspace(size_t(N) * 2 * (sizeof(int) + sizeof(__nv_bfloat16))));
  int* otherIndices = indices + N;
  __nv_bfloat16* values = reinterpret_cast<__nv_bfloat16*>(otherIndices + N);
  __nv_bfloat16* otherValues = values + N;
  top_k_pairs_kernel_bf16<<<N / threads + (N % threads != 0), threads>>>(input, values, indices, N);
  for (long long width = 1; width < N; width *= 2) {
    const long long merges = (N + 2 * width - 1) / (2 * width);
    top_k_merge_kernel_bf16<<<unsigned((merges + threads - 1) / threads), threads>>>(values, indices, otherValues, otherIndices, N,
                                                                                width);
    int* const sortedIndices = otherIndices;
    __nv_bfloat16* const sortedValues = otherValues;
    otherIndices = indices, otherValues = values;
    indices = sortedIndices, values = sortedValues;
  }
  top_k_copy_kernel_bf16<<<k / threads + (k % threads != 0), threads>>>(values, indices, top_k_values, top_k_indices, k);
}
