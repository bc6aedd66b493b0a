// Vector addition, naive: one block of 1024 threads walks the whole array, so a single multiprocessor does all the
// work, one element per load. The sum is formed in fp32 and rounded to bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void vector_add_kernel_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N) {
  for (long long i = threadIdx.x; i < N; i += blockDim.x) {
    C[i] = __float2bfloat16_rn(__bfloat162float(A[i]) + __bfloat162float(B[i]));
  }
}

extern "C" void vector_add_bf16(const __nv_bfloat16* A, const __nv_bfloat16* B, __nv_bfloat16* C, int N) {
  vector_add_kernel_bf16<<<1, 1024>>>(A, B, C, N);
}
