// CUB's answer to the task: a reduction over transformed positions, then a kernel of one thread for the result.
#include <cub/device/device_reduce.cuh>
#include <cuda/std/functional>
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <thrust/iterator/counting_iterator.h>

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

__device__ float load(float v) { return v; }
__device__ float load(__nv_bfloat16 v) { return __bfloat162float(v); }
__device__ void store(float* out, float v) { *out = v; }

/** One term of the sum. */
template <class T>
struct Term {
  const T* X;
  const T* Y;
  __device__ float operator()(int i) const {
    const float difference = load(X[i]) - load(Y[i]);
    return difference * difference;
  }
};

__global__ void finish_kernel(float* loss, const float* sum, int N) { store(loss, *sum / float(N)); }

template <class T>
void reduce(float* loss, const T* X, const T* Y, int N) {
  const Term<T> term{X, Y};
  size_t bytes = 0;
  cub::DeviceReduce::TransformReduce(nullptr, bytes, thrust::counting_iterator<int>(0), static_cast<float*>(nullptr), N,
                                     cuda::std::plus<>{}, term, 0.0f);
  char* memory = static_cast<char*>(workspace(256 + bytes));
  float* sum = reinterpret_cast<float*>(memory);
  cub::DeviceReduce::TransformReduce(memory + 256, bytes, thrust::counting_iterator<int>(0), sum, N, cuda::std::plus<>{}, term,
                                     0.0f);
  finish_kernel<<<1, 1>>>(loss, sum, N);
}

}  // namespace

extern "C" void MSE_loss_library(float* loss, const float* X, const float* Y, const int N) {
  reduce(loss, X, Y, N);
}
extern "C" void MSE_loss_bf16_library(float* loss, const __nv_bfloat16* X, const __nv_bfloat16* Y, const int N) {
  reduce(loss, X, Y, N);
}
