// Causal softmax of every bf16 feature by itself, naive: one thread per result passes three times over its past positions and
// computes each score anew every time. Arithmetic in fp32, one rounding to bf16.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

__global__ void triangle_attention_kernel_bf16(const __nv_bfloat16* query, const __nv_bfloat16* key, const __nv_bfloat16* value, const float* attention_mask,
                                          __nv_bfloat16* output, int batch_size, int head_num, int seq_length, int head_dim) {
  const long long index = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (index >= (long long)batch_size * head_num * seq_length * head_dim) return;
  const long long i = index / head_dim % seq_length;
  const long long batch = index / head_dim / seq_length / head_num;
  const long long first = index - i * head_dim;  // the same feature at position 0
  const float* mask = attention_mask + (batch * seq_length + i) * seq_length;
  const float q = __bfloat162float(query[index]);

  float maximum = -INFINITY;
  for (long long j = 0; j <= i; ++j) {
    if (mask[j] > 0.5f) continue;
    maximum = fmaxf(maximum, q * __bfloat162float(key[first + j * head_dim]) / sqrtf((float)head_dim));
  }
  float sum = 0.0f;
  for (long long j = 0; j <= i; ++j) {
    if (mask[j] > 0.5f) continue;
    sum += expf(q * __bfloat162float(key[first + j * head_dim]) / sqrtf((float)head_dim) - maximum);
  }
  float result = 0.0f;  // stays zero if every position is masked
  for (long long j = 0; j <= i; ++j) {
    if (mask[j] > 0.5f) continue;
    const float weight = expf(q * __bfloat162float(key[first + j * head_dim]) / sqrtf((float)head_dim) - maximum) / sum;
    result += weight * __bfloat162float(value[first + j * head_dim]);
  }
  output[index] = __float2bfloat16_rn(result);
}

extern "C" void triangle_attention_bf16(const __nv_bfloat16* query, const __nv_bfloat16* key, const __nv_bfloat16* value, const float* attention_mask, __nv_bfloat16* output,
                                   int batch_size, int head_num, int seq_length, int head_dim) {
  const int threads = 256;
  const long long results = (long long)batch_size * head_num * seq_length * head_dim;
  const long long blocks = results / threads + (results % threads != 0);
  triangle_attention_kernel_bf16<<<(unsigned)blocks, threads>>>(query, key, value, attention_mask, output, batch_size, head_num,
                                                           seq_length, head_dim);
}
