// Matrix power of a bf16 matrix, naive: P - 1 products one after the other, each the running power times A, one thread per
// result and no tiling. Running powers are fp32 in a kept workspace; only the last one is rounded to bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__device__ inline float load(const float* p, long long i) { return p[i]; }
__device__ inline float load(const __nv_bfloat16* p, long long i) { return __bfloat162float(p[i]); }
__device__ inline void store(float* p, long long i, float v) { p[i] = v; }
__device__ inline void store(__nv_bfloat16* p, long long i, float v) { p[i] = __float2bfloat16_rn(v); }

template <class Left, class Out>
__global__ void matrix_power_kernel_bf16(const Left* power, const __nv_bfloat16* A, Out* next, int N) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= N || column >= N) return;
  float sum = 0.0f;
  for (long long k = 0; k < N; ++k) sum += load(power, row * N + k) * load(A, k * N + column);
  store(next, row * N + column, sum);
}

// Room for two fp32 matrices; it grows when a larger one is asked for and stays until the process ends.
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

extern "C" void matrix_power_bf16(const __nv_bfloat16* A, __nv_bfloat16* B, int N, int P) {
  const size_t elements = (size_t)N * N;
  if (P == 1) {
    cudaMemcpyAsync(B, A, elements * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice);
    return;
  }
  const int edge = 16;
  const int tiles = N / edge + (N % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(tiles, tiles);
  if (P == 2) {
    matrix_power_kernel_bf16<<<blocks, threads>>>(A, A, B, N);
    return;
  }
  float* power = workspace(2 * elements);
  float* next = power + elements;
  matrix_power_kernel_bf16<<<blocks, threads>>>(A, A, power, N);
  for (int p = 3; p < P; ++p) {
    matrix_power_kernel_bf16<<<blocks, threads>>>(power, A, next, N);
    float* const used = power;
    power = next;
    next = used;
  }
  matrix_power_kernel_bf16<<<blocks, threads>>>(power, A, B, N);
}
