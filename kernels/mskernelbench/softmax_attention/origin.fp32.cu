// Attention, naive: scores, row softmax and weighted sum as three kernels through global memory. One thread per score or
// result without tiling (rows of K are read dim_qk elements apart), one thread per row in the softmax.
#include <cuda_runtime.h>

__global__ void softmax_attention_scores_kernel(float* S, const float* Q, const float* K, int q_seq_len, int kv_seq_len,
                                                int dim_qk) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= q_seq_len || column >= kv_seq_len) return;
  float sum = 0.0f;
  for (int d = 0; d < dim_qk; ++d) sum += Q[row * dim_qk + d] * K[column * dim_qk + d];
  S[row * kv_seq_len + column] = sum / sqrtf((float)dim_qk);
}

__global__ void softmax_attention_softmax_kernel(float* S, int q_seq_len, int kv_seq_len) {
  const long long row = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= q_seq_len) return;
  float* s = S + row * kv_seq_len;
  float maximum = s[0];
  for (int j = 1; j < kv_seq_len; ++j) maximum = fmaxf(maximum, s[j]);
  float sum = 0.0f;
  for (int j = 0; j < kv_seq_len; ++j) {
    s[j] = expf(s[j] - maximum);
    sum += s[j];
  }
  for (int j = 0; j < kv_seq_len; ++j) s[j] /= sum;
}

__global__ void softmax_attention_output_kernel(float* Y, const float* S, const float* V, int q_seq_len, int kv_seq_len,
                                                int dim_v) {
  const long long column = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  const long long row = (long long)blockIdx.y * blockDim.y + threadIdx.y;
  if (row >= q_seq_len || column >= dim_v) return;
  float sum = 0.0f;
  for (long long j = 0; j < kv_seq_len; ++j) sum += S[row * kv_seq_len + j] * V[j * dim_v + column];
  Y[row * dim_v + column] = sum;
}

// Room for the scores; it grows when more are asked for and stays until the process ends.
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

extern "C" void softmax_attention(float* Y, const float* Q, const float* K, const float* V, int q_seq_len, int kv_seq_len, int dim_qk,
                                  int dim_v) {
  float* S = workspace((size_t)q_seq_len * kv_seq_len);
  const int edge = 16;
  const dim3 threads(edge, edge);
  const int high = (q_seq_len + edge - 1) / edge;
  softmax_attention_scores_kernel<<<dim3((kv_seq_len + edge - 1) / edge, high), threads>>>(S, Q, K, q_seq_len, kv_seq_len,
                                                                                           dim_qk);
  softmax_attention_softmax_kernel<<<(q_seq_len + 255) / 256, 256>>>(S, q_seq_len, kv_seq_len);
  softmax_attention_output_kernel<<<dim3((dim_v + edge - 1) / edge, high), threads>>>(Y, S, V, q_seq_len, kv_seq_len, dim_v);
}
