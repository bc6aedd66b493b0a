// cuDNN's answer to the task: a forward convolution of an image of one row with one channel and one filter.
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

/** What one size needs; made anew when the size changes, kept otherwise. */
struct Convolution {
  cudnnHandle_t handle;
  cudnnTensorDescriptor_t input, output;
  cudnnFilterDescriptor_t filter;
  cudnnConvolutionDescriptor_t rule;
  cudnnConvolutionFwdAlgo_t algorithm;
  void* room = nullptr;
  size_t capacity = 0, used = 0;
  int size[4] = {0, 0, 0, 0};

  explicit Convolution(cudnnDataType_t type) : type_(type) {
    check(cudnnCreate(&handle), "cudnnCreate");
    check(cudnnCreateTensorDescriptor(&input), "cudnnCreateTensorDescriptor");
    check(cudnnCreateTensorDescriptor(&output), "cudnnCreateTensorDescriptor");
    check(cudnnCreateFilterDescriptor(&filter), "cudnnCreateFilterDescriptor");
    check(cudnnCreateConvolutionDescriptor(&rule), "cudnnCreateConvolutionDescriptor");
    check(cudnnSetConvolution2dDescriptor(rule, 0, 0, 1, 1, 1, 1, CUDNN_CROSS_CORRELATION, CUDNN_DATA_FLOAT),
          "cudnnSetConvolution2dDescriptor");
    // Without this, fp32 is computed in TF32.
    check(cudnnSetConvolutionMathType(rule, type == CUDNN_DATA_FLOAT ? CUDNN_FMA_MATH : CUDNN_TENSOR_OP_MATH),
          "cudnnSetConvolutionMathType");
  }

  void set(int rows, int columns, int kernelRows, int kernelColumns) {
    if (size[0] == rows && size[1] == columns && size[2] == kernelRows && size[3] == kernelColumns) return;
    check(cudnnSetTensor4dDescriptor(input, CUDNN_TENSOR_NCHW, type_, 1, 1, rows, columns), "cudnnSetTensor4dDescriptor");
    check(cudnnSetFilter4dDescriptor(filter, type_, CUDNN_TENSOR_NCHW, 1, 1, kernelRows, kernelColumns), "cudnnSetFilter4dDescriptor");
    check(cudnnSetTensor4dDescriptor(output, CUDNN_TENSOR_NCHW, type_, 1, 1, rows - kernelRows + 1, columns - kernelColumns + 1),
          "cudnnSetTensor4dDescriptor");
    choose();
    size[0] = rows, size[1] = columns, size[2] = kernelRows, size[3] = kernelColumns;
  }

 private:
  /** The fastest by cuDNN's own estimate that sums products directly: transforms lose small values beside large ones. */
  void choose() {
    cudnnConvolutionFwdAlgoPerf_t found[CUDNN_CONVOLUTION_FWD_ALGO_COUNT];
    int count = 0;
    check(cudnnGetConvolutionForwardAlgorithm_v7(handle, input, filter, rule, output, CUDNN_CONVOLUTION_FWD_ALGO_COUNT, &count, found),
          "cudnnGetConvolutionForwardAlgorithm_v7");
    for (int i = 0; i < count; i++) {
      const cudnnConvolutionFwdAlgo_t algo = found[i].algo;
      const bool direct = algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_GEMM ||
                          algo == CUDNN_CONVOLUTION_FWD_ALGO_IMPLICIT_PRECOMP_GEMM || algo == CUDNN_CONVOLUTION_FWD_ALGO_GEMM;
      if (!direct || found[i].status != CUDNN_STATUS_SUCCESS || !reserve(found[i].memory)) continue;
      algorithm = algo, used = found[i].memory;
      return;
    }
    std::fprintf(stderr, "cuDNN has no direct algorithm for this convolution\n");
    std::abort();
  }

  bool reserve(size_t bytes) {
    if (bytes <= capacity) return true;
    cudaFree(room);
    room = nullptr;
    capacity = cudaMalloc(&room, bytes) == cudaSuccess ? bytes : 0;
    if (capacity == 0) cudaGetLastError();  // the next algorithm may need less
    return capacity >= bytes;
  }

  cudnnDataType_t type_;
};

void convolve(Convolution& c, const void* input, const void* kernel, void* output, int rows, int columns, int kernelRows, int kernelColumns) {
  c.set(rows, columns, kernelRows, kernelColumns);
  const float one = 1.0f, zero = 0.0f;
  check(cudnnConvolutionForward(c.handle, &one, c.input, input, c.filter, kernel, c.rule, c.algorithm, c.room, c.used, &zero, c.output,
                                output),
        "cudnnConvolutionForward");
}

}  // namespace

extern "C" void conv_1d_library(const float* input, const float* kernel, float* output, int input_size, int kernel_size) {
  static Convolution kept(CUDNN_DATA_FLOAT);
  convolve(kept, input, kernel, output, 1, input_size, 1, kernel_size);
}

extern "C" void conv_1d_bf16_library(const __nv_bfloat16* input, const __nv_bfloat16* kernel, __nv_bfloat16* output, int input_size,
                                     int kernel_size) {
  static Convolution kept(CUDNN_DATA_BFLOAT16);
  convolve(kept, input, kernel, output, 1, input_size, 1, kernel_size);
}
