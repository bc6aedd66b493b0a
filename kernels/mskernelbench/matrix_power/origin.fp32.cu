// Matrix power, naive: P - 1 products one after the other, each the running power times A, one thread per result and no
// tiling. The running power alternates between a kept workspace and B; nothing is copied.
#include <cuda_runtime.h>

__global__ void matrix_power_kernel(const float* power, const float* A, float* next, int N) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= N || column >= N) return;
  float sum = 0.0f;
  for (long long k = 0; k < N; ++k) sum += power[row * N + k] * A[k * N + column];
  next[row * N + column] = sum;
}

// Room for one matrix; it grows when a larger one is asked for and stays until the process ends.
static float* workspace(size_t elements) {
  static float* room = nullptr;
  static size_t size = 0;
  if (elements > size) {
    cudaFree(room);
    room = nullptr;
    size = cudaMalloc(&room, elements * sizeof(float)) == cudaSuccess ? elements : 0;
  }
  return room;
}

extern "C" void matrix_power(const float* A, float* B, int N, int P) {
  const size_t elements = (size_t)N * N;
  if (P == 1) {
    cudaMemcpyAsync(B, A, elements * sizeof(float), cudaMemcpyDeviceToDevice);
    return;
  }
  const int edge = 16;
  const int tiles = N / edge + (N % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(tiles, tiles);
  float* other = P > 2 ? workspace(elements) : nullptr;
  const float* power = A;
  for (int p = 2; p <= P; ++p) {
    float* next = (P - p) % 2 == 0 ? B : other;  // the last one is B
    matrix_power_kernel<<<blocks, threads>>>(power, A, next, N);
    power = next;
  }
}
