// Merging two partial attention results in bf16, naive: one block per token and head; its first thread computes the two
// weights in fp32 while the others wait at a barrier, then every thread merges single elements and rounds them once.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void merge_attn_states_kernel_bf16(__nv_bfloat16* V_out, __nv_bfloat16* LSE_out, const __nv_bfloat16* V_a, const __nv_bfloat16* lse_a, const __nv_bfloat16* V_b,
                                         const __nv_bfloat16* lse_b, int num_tokens, int num_heads, int head_size) {
  __shared__ float weight_a, weight_b;
  const long long token = blockIdx.x;
  // The grid's second extent is limited to 65535; more heads take more than one step.
  for (long long head = blockIdx.y; head < num_heads; head += gridDim.y) {
    if (threadIdx.x == 0) {
      const long long at = head * num_tokens + token;
      const float a = __bfloat162float(lse_a[at]), b = __bfloat162float(lse_b[at]);
      const float maximum = fmaxf(a, b);
      const float exp_a = expf(a - maximum), exp_b = expf(b - maximum);
      const float sum = exp_a + exp_b;
      weight_a = exp_a / sum;
      weight_b = exp_b / sum;
      LSE_out[at] = __float2bfloat16_rn(maximum + logf(sum));
    }
    __syncthreads();
    const long long begin = (token * num_heads + head) * head_size;
    for (int d = threadIdx.x; d < head_size; d += blockDim.x) {
      V_out[begin + d] = __float2bfloat16_rn(weight_a * __bfloat162float(V_a[begin + d]) + weight_b * __bfloat162float(V_b[begin + d]));
    }
    __syncthreads();  // the weights are still being read
  }
}

extern "C" void merge_attn_states_bf16(__nv_bfloat16* V_out, __nv_bfloat16* LSE_out, const __nv_bfloat16* V_a, const __nv_bfloat16* lse_a, const __nv_bfloat16* V_b, const __nv_bfloat16* lse_b,
                                  int num_tokens, int num_heads, int head_size) {
  const int threads = head_size < 1024 ? head_size : 1024;
  const dim3 blocks(num_tokens, num_heads < 65535 ? num_heads : 65535);
  merge_attn_states_kernel_bf16<<<blocks, threads>>>(V_out, LSE_out, V_a, lse_a, V_b, lse_b, num_tokens, num_heads, head_size);
}
