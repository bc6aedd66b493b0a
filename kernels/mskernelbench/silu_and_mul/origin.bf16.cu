// SiLU of the first half of each row times its second half, naive: at most 256 blocks of 128 threads, each block walks
// over whole rows, one element per load. Few rows leave most multiprocessors idle. Arithmetic in fp32; each result is
// rounded to bf16 once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void silu_and_mul_kernel_bf16(const __nv_bfloat16* in, __nv_bfloat16* out, int B, int D) {
  for (long long row = blockIdx.x; row < B; row += gridDim.x) {
    const __nv_bfloat16* gate = in + row * 2 * D;
    const __nv_bfloat16* value = gate + D;
    for (int d = threadIdx.x; d < D; d += blockDim.x) {
      const float x = __bfloat162float(gate[d]);
      out[row * D + d] = __float2bfloat16_rn(x / (1.0f + expf(-x)) * __bfloat162float(value[d]));
    }
  }
}

extern "C" void silu_and_mul_bf16(const __nv_bfloat16* in, __nv_bfloat16* out, int B, int D) {
  const int blocks = B < 256 ? B : 256;
  silu_and_mul_kernel_bf16<<<blocks, 128>>>(in, out, B, D);
}
