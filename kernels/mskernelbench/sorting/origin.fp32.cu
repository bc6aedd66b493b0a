// Ascending sort, naive: bottom-up merge sort whose every merge is done by one thread, so that the last passes run on two threads
// and on one.
#include <cuda_runtime.h>

/** Merges the sorted runs [begin, middle) and [middle, end) of `from` into `to`, one pair of runs per thread. */
__global__ void sorting_merge_kernel(const float* from, float* to, long long N, long long width) {
  const long long begin = ((long long)blockIdx.x * blockDim.x + threadIdx.x) * 2 * width;
  if (begin >= N) return;
  const long long middle = begin + width < N ? begin + width : N;
  const long long end = middle + width < N ? middle + width : N;
  long long left = begin, right = middle;
  for (long long i = begin; i < end; ++i) {
    const bool takeLeft = left < middle && (right >= end || from[left] <= from[right]);
    to[i] = takeLeft ? from[left++] : from[right++];
  }
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

extern "C" void sorting(float* data, int N) {
  float* from = data;
  float* to = static_cast<float*>(workspace(size_t(N) * sizeof(float)));
  for (long long width = 1; width < N; width *= 2) {
    const int threads = 256;
    const long long merges = (N + 2 * width - 1) / (2 * width);
    sorting_merge_kernel<<<unsigned((merges + threads - 1) / threads), threads>>>(from, to, N, width);
    float* const sorted = to;
    to = from;
    from = sorted;
  }
  if (from != data) cudaMemcpyAsync(data, from, size_t(N) * sizeof(float), cudaMemcpyDeviceToDevice);
}
