// cuDNN's ReLU. Handle and descriptors are made on first use and kept; only the length is set in each call.
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

struct Activation {
  cudnnHandle_t handle;
  cudnnActivationDescriptor_t function;
  cudnnTensorDescriptor_t shape;

  Activation() {
    check(cudnnCreate(&handle), "cudnnCreate");
    check(cudnnCreateActivationDescriptor(&function), "cudnnCreateActivationDescriptor");
    check(cudnnCreateTensorDescriptor(&shape), "cudnnCreateTensorDescriptor");
  }
};

void activate(cudnnDataType_t type, void* out, const void* in, int N, double coefficient) {
  static const Activation a;
  check(cudnnSetActivationDescriptor(a.function, CUDNN_ACTIVATION_RELU, CUDNN_PROPAGATE_NAN, coefficient),
        "cudnnSetActivationDescriptor");
  check(cudnnSetTensor4dDescriptor(a.shape, CUDNN_TENSOR_NCHW, type, 1, 1, 1, N), "cudnnSetTensor4dDescriptor");
  const float one = 1.0f, zero = 0.0f;
  check(cudnnActivationForward(a.handle, a.function, &one, a.shape, in, &zero, a.shape, out), "cudnnActivationForward");
}

}  // namespace

extern "C" void RELU_library(float* output, const float* input, int N) {
  activate(CUDNN_DATA_FLOAT, output, input, N, 0.0);
}

extern "C" void RELU_bf16_library(__nv_bfloat16* output, const __nv_bfloat16* input, int N) {
  activate(CUDNN_DATA_BFLOAT16, output, input, N, 0.0);
}
