// The CUDA runtime's own copy.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

extern "C" void matrix_copy_library(const float* A, float* B, int M, int N) {
  cudaMemcpyAsync(B, A, (size_t)M * N * sizeof(float), cudaMemcpyDeviceToDevice, 0);
}

extern "C" void matrix_copy_bf16_library(const __nv_bfloat16* A, __nv_bfloat16* B, int M, int N) {
  cudaMemcpyAsync(B, A, (size_t)M * N * sizeof(__nv_bfloat16), cudaMemcpyDeviceToDevice, 0);
}
