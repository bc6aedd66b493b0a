// GPU peaks (see peaks.h).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "activity.h"
#include "buffers.h"
#include "device.h"
#include "json.h"
#include "peaks_pipes_cuda.h"

namespace cm_harness {

/** UNROLL independent 16-byte loads in flight per thread. */
template <int UNROLL>
__global__ void peakReadKernel(const float4* data, int64_t count, float* sink) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  float sum = 0;
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (UNROLL - 1) * stride < count; i += UNROLL * stride) {
    float4 v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) v[u] = data[i + u * stride];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) sum += v[u].x + v[u].y + v[u].z + v[u].w;
  }
  for (; i < count; i += stride) sum += data[i].x;
  if (sum == 1.2345e-30f) *sink = sum;
}

__global__ void peakWriteKernel(float4* data, int64_t count, float value) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    data[i] = make_float4(value, value, value, value);
}

template <int UNROLL>
__global__ void peakCopyKernel(const float4* from, float4* to, int64_t count) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  for (; i + (UNROLL - 1) * stride < count; i += UNROLL * stride) {
    float4 v[UNROLL];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) v[u] = from[i + u * stride];
#pragma unroll
    for (int u = 0; u < UNROLL; u++) to[i + u * stride] = v[u];
  }
  for (; i < count; i += stride) to[i] = from[i];
}

constexpr int kChains = 8;
constexpr int kFmaSteps = 4096;

/** kChains independent chains of fused multiply-adds per thread; a and b are run-time values, so nothing folds. */
__global__ void peakFmaKernel(float a, float b, float* sink) {
  float x[kChains];
#pragma unroll
  for (int c = 0; c < kChains; c++) x[c] = float(threadIdx.x + c);
#pragma unroll 16
  for (int s = 0; s < kFmaSteps; s++) {
#pragma unroll
    for (int c = 0; c < kChains; c++) x[c] = fmaf(x[c], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kChains; c++) sum += x[c];
  if (sum == 1.2345e-30f) *sink = sum;
}

__global__ void emptyKernel() {}

}  // namespace cm_harness

namespace cm {

namespace detail {

/** Median span in seconds of one launch, over `runs` after one that is not counted. */
template <class Launch>
double medianSpan(Activity& activity, int runs, const Launch& launch) {
  std::vector<double> seconds;
  for (int i = 0; i <= runs; i++) {
    launch();
    dev::check(cudaGetLastError(), "peak kernel");
    activity.mark();
    dev::sync();
    activity.settle();
    const Record r = activity.lastOwn();
    if (!r.valid()) throw CommandError("cupti", "no usable record of a peak kernel");
    if (i > 0) seconds.push_back(double(r.end - r.start) * 1e-9);
  }
  std::sort(seconds.begin(), seconds.end());
  return seconds[seconds.size() / 2];
}

/** Shortest of the medians over grids of 4 to 32 blocks per multiprocessor. */
template <class Launch>
double bestSpan(Activity& activity, const Launch& launch) {
  double best = 1e30;
  for (const int perSm : {4, 8, 32}) best = std::min(best, medianSpan(activity, 5, [&] { launch(dev::state().sms * perSm); }));
  return best;
}

}  // namespace detail

/** JSON of the peaks; switches recording on for its time if it is off. */
inline std::string measurePeaks(Activity& activity) {
  const bool was = activity.on();
  activity.start();
  const size_t bytes = std::max<size_t>(12 * dev::state().l2Bytes, 256u << 20);
  const int64_t n = int64_t(bytes / sizeof(float4));
  const DeviceMemory a(bytes), b(bytes), sinkMemory(sizeof(double));
  float4 *pa = static_cast<float4*>(a.data()), *pb = static_cast<float4*>(b.data());
  float* sink = static_cast<float*>(sinkMemory.data());
  const cudaStream_t s = dev::stream();
  auto write = [&](int grid) { cm_harness::peakWriteKernel<<<grid, 256, 0, s>>>(pa, n, 1.0f); };
  auto read4 = [&](int grid) { cm_harness::peakReadKernel<4><<<grid, 256, 0, s>>>(pa, n, sink); };
  auto read8 = [&](int grid) { cm_harness::peakReadKernel<8><<<grid, 256, 0, s>>>(pa, n, sink); };
  auto copy4 = [&](int grid) { cm_harness::peakCopyKernel<4><<<grid, 256, 0, s>>>(pa, pb, n); };
  auto copy1 = [&](int grid) { cm_harness::peakCopyKernel<1><<<grid, 256, 0, s>>>(pa, pb, n); };
  const double writeS = detail::bestSpan(activity, write);  // first: the reads below read written memory
  const double readS = std::min(detail::bestSpan(activity, read4), detail::bestSpan(activity, read8));
  const double copyS = std::min(detail::bestSpan(activity, copy4), detail::bestSpan(activity, copy1));
  const int fmaGrid = dev::state().sms * 8;
  const double fmaS = detail::medianSpan(activity, 5, [&] { cm_harness::peakFmaKernel<<<fmaGrid, 256, 0, s>>>(0.999f, 0.001f, sink); });
  const double emptyS = detail::medianSpan(activity, 21, [&] { cm_harness::emptyKernel<<<1, 1, 0, s>>>(); });
  const int cc = 10 * dev::attribute(cudaDevAttrComputeCapabilityMajor) + dev::attribute(cudaDevAttrComputeCapabilityMinor);
  const auto span = [&](const auto& launch) { return detail::medianSpan(activity, 5, launch); };
  const std::string pipes = detail::pipePeaks(cc, sink, s, span);
  if (!was) activity.stop();
  const double flops = 2.0 * cm_harness::kChains * cm_harness::kFmaSteps * 256.0 * fmaGrid;
  return JsonObject()
      .number("readBytesPerS", double(bytes) / readS)
      .number("writeBytesPerS", double(bytes) / writeS)
      .number("copyBytesPerS", 2.0 * double(bytes) / copyS)
      .number("fp32FlopsPerS", flops / fmaS)
      .number("emptySpanNs", emptyS * 1e9)
      .raw("pipes", pipes)
      .str();
}

}  // namespace cm
