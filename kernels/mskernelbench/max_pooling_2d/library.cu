// cuDNN's answer to the task: a forward max pooling, whose padding does not count.
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

struct Pooling {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t input, output;
  cudnnPoolingDescriptor_t rule;

  Pooling() {
    check(cudnnCreate(&handle), "cudnnCreate");
    check(cudnnCreateTensorDescriptor(&input), "cudnnCreateTensorDescriptor");
    check(cudnnCreateTensorDescriptor(&output), "cudnnCreateTensorDescriptor");
    check(cudnnCreatePoolingDescriptor(&rule), "cudnnCreatePoolingDescriptor");
  }
};

/** Handle and descriptors are kept; what they say is set in each call (on the host alone). */
void pool(cudnnDataType_t type, const void* input, void* output, int N, int C, int H, int W, int kernel_size, int stride, int padding) {
  static Pooling kept;
  const int out_H = (H + 2 * padding - kernel_size) / stride + 1, out_W = (W + 2 * padding - kernel_size) / stride + 1;
  check(cudnnSetTensor4dDescriptor(kept.input, CUDNN_TENSOR_NCHW, type, N, C, H, W), "cudnnSetTensor4dDescriptor");
  check(cudnnSetTensor4dDescriptor(kept.output, CUDNN_TENSOR_NCHW, type, N, C, out_H, out_W), "cudnnSetTensor4dDescriptor");
  check(cudnnSetPooling2dDescriptor(kept.rule, CUDNN_POOLING_MAX, CUDNN_NOT_PROPAGATE_NAN, kernel_size, kernel_size, padding, padding,
                                    stride, stride),
        "cudnnSetPooling2dDescriptor");
  const float one = 1.0f, zero = 0.0f;
  check(cudnnPoolingForward(kept.handle, kept.rule, &one, kept.input, input, &zero, kept.output, output), "cudnnPoolingForward");
}

}  // namespace

extern "C" void max_pooling_2d_library(const float* input, float* output, int N, int C, int H, int W, int kernel_size, int stride,
                                       int padding) {
  pool(CUDNN_DATA_FLOAT, input, output, N, C, H, W, kernel_size, stride, padding);
}

extern "C" void max_pooling_2d_bf16_library(const __nv_bfloat16* input, __nv_bfloat16* output, int N, int C, int H, int W, int kernel_size,
                                            int stride, int padding) {
  pool(CUDNN_DATA_BFLOAT16, input, output, N, C, H, W, kernel_size, stride, padding);
}
