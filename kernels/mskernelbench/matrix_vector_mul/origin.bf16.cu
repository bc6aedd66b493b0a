// Matrix times vector in bf16 with fp32 accumulation, naive: one thread per row, whose result is rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void matrix_vector_mul_kernel_bf16(const __nv_bfloat16* A, const __nv_bfloat16* x, __nv_bfloat16* y, int M, int N) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= M) return;
  const __nv_bfloat16* a = A + row * N;
  float sum = 0.0f;
  for (int j = 0; j < N; ++j) sum += __bfloat162float(a[j]) * __bfloat162float(x[j]);
  y[row] = __float2bfloat16_rn(sum);
}

extern "C" void matrix_vector_mul_bf16(const __nv_bfloat16* A, const __nv_bfloat16* x, __nv_bfloat16* y, int M, int N) {
  const int threads = 256;
  const int blocks = M / threads + (M % threads != 0);
  matrix_vector_mul_kernel_bf16<<<blocks, threads>>>(A, x, y, M, N);
}
