// cuDNN's batch normalisation of training, per activation, without running statistics. It takes scale and shift in fp32
// also for bf16 tensors, so these are converted first. Handle, descriptors and the converted copies' memory are made on
// first use and kept; what they hold is set in each call.
#include <cuda_bf16.h>
#include <cuda_runtime.h>
#include <cudnn.h>

#include <cstdio>
#include <cstdlib>

namespace {

void check(cudnnStatus_t status, const char* what) {
  if (status == CUDNN_STATUS_SUCCESS) return;
  std::fprintf(stderr, "%s: %s\n", what, cudnnGetErrorString(status));
  std::abort();
}

struct Normalization {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t shape, parameters;
  float* converted = nullptr;
  int features = 0;

  Normalization() {
    check(cudnnCreate(&handle), "cudnnCreate");
    check(cudnnCreateTensorDescriptor(&shape), "cudnnCreateTensorDescriptor");
    check(cudnnCreateTensorDescriptor(&parameters), "cudnnCreateTensorDescriptor");
  }

  /** Room for scale and shift of C features in fp32. */
  float* room(int C) {
    if (C > features) {
      cudaFree(converted);
      if (cudaMalloc(&converted, 2 * (size_t)C * sizeof(float)) != cudaSuccess) {
        std::fprintf(stderr, "no memory for scale and shift\n");
        std::abort();
      }
      features = C;
    }
    return converted;
  }
};

Normalization& kept() {
  static Normalization n;
  return n;
}

void normalize(cudnnDataType_t type, void* output, const void* input, const float* gamma, const float* beta,
               float epsilon, int N, int C) {
  Normalization& n = kept();
  const cudnnBatchNormMode_t mode = CUDNN_BATCHNORM_PER_ACTIVATION;
  check(cudnnSetTensor4dDescriptor(n.shape, CUDNN_TENSOR_NCHW, type, N, C, 1, 1), "cudnnSetTensor4dDescriptor");
  check(cudnnDeriveBNTensorDescriptor(n.parameters, n.shape, mode), "cudnnDeriveBNTensorDescriptor");
  const float one = 1.0f, zero = 0.0f;
  check(
      cudnnBatchNormalizationForwardTraining(n.handle, mode, &one, &zero, n.shape, input, n.shape, output, n.parameters,
                                             gamma, beta, 1.0, nullptr, nullptr, epsilon, nullptr, nullptr),
      "cudnnBatchNormalizationForwardTraining");
}

__global__ void convert_kernel(float* converted, const __nv_bfloat16* gamma, const __nv_bfloat16* beta, int C) {
  const int c = blockIdx.x * blockDim.x + threadIdx.x;
  if (c >= C) return;
  converted[c] = __bfloat162float(gamma[c]);
  converted[C + c] = __bfloat162float(beta[c]);
}

}  // namespace

extern "C" void batch_norm_library(float* output, const float* input, const float* gamma, const float* beta,
                                   float epsilon, int N, int C) {
  normalize(CUDNN_DATA_FLOAT, output, input, gamma, beta, epsilon, N, C);
}

extern "C" void batch_norm_bf16_library(__nv_bfloat16* output, const __nv_bfloat16* input, const __nv_bfloat16* gamma,
                                        const __nv_bfloat16* beta, float epsilon, int N, int C) {
  float* converted = kept().room(C);
  convert_kernel<<<(C + 255) / 256, 256>>>(converted, gamma, beta, C);
  normalize(CUDNN_DATA_BFLOAT16, output, input, converted, converted + C, epsilon, N, C);
}
