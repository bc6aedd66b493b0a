// Matrix product in bf16 with fp32 accumulation, naive: one thread per result, without shared memory or tensor cores;
// each result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void matrix_mul_kernel_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M, int N, int K) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= N) return;
  // The grid's second extent is limited to 65535 blocks; taller matrices take more than one step.
  const long long step = (long long)gridDim.y * blockDim.y;
  for (long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y; row < M; row += step) {
    float sum = 0.0f;
    for (long long k = 0; k < K; ++k) sum += __bfloat162float(A[row * K + k]) * __bfloat162float(B[k * N + column]);
    C[row * N + column] = __float2bfloat16_rn(sum);
  }
}

extern "C" void matrix_mul_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int M, int N, int K) {
  const int edge = 16;
  const int wide = N / edge + (N % edge != 0);
  const int high = M / edge + (M % edge != 0);
  const dim3 threads(edge, edge);
  const dim3 blocks(wide, high < 65535 ? high : 65535);
  matrix_mul_kernel_bf16<<<blocks, threads>>>(A, B, C, M, N, K);
}
