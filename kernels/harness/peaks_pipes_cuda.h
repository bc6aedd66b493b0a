// GPU peaks of the other arithmetic pipes, for the roofline: fp64, packed half and, from compute capability 8.0 on, tensor-core products
// by mma.sync, the fastest instruction that candidates may use on every target without an `a` suffix.
#pragma once

#include <cuda_fp16.h>

#include <cstdint>

#include "device.h"
#include "json.h"

namespace cm_harness {

constexpr int kPipeChains = 8;
constexpr int kPipeSteps = 2048;

/** kPipeChains independent chains of fused multiply-adds per thread. */
__global__ void peakDoubleKernel(double a, double b, double* sink) {
  double x[kPipeChains];
#pragma unroll
  for (int c = 0; c < kPipeChains; c++) x[c] = double(threadIdx.x + c);
#pragma unroll 8
  for (int s = 0; s < kPipeSteps; s++) {
#pragma unroll
    for (int c = 0; c < kPipeChains; c++) x[c] = fma(x[c], a, b);
  }
  double sum = 0;
#pragma unroll
  for (int c = 0; c < kPipeChains; c++) sum += x[c];
  if (sum == 1.2345e-30) *sink = sum;
}

__global__ void peakHalfKernel(float a, float b, float* sink) {
  const __half2 ha = __float2half2_rn(a), hb = __float2half2_rn(b);
  __half2 x[kPipeChains];
#pragma unroll
  for (int c = 0; c < kPipeChains; c++) x[c] = __float2half2_rn(float(threadIdx.x + c) * 0.001f);
#pragma unroll 8
  for (int s = 0; s < kPipeSteps; s++) {
#pragma unroll
    for (int c = 0; c < kPipeChains; c++) x[c] = __hfma2(x[c], ha, hb);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kPipeChains; c++) sum += __low2float(x[c]) + __high2float(x[c]);
  if (sum == 1.2345e-30f) *sink = sum;
}

constexpr int kMmaChains = 4;
constexpr int kMmaSteps = 1024;
enum class Mma { bf16, fp16, tf32 };

/** One product of a warp: m16n8k16 of 16-bit values, m16n8k8 of TF32, accumulated in fp32. */
template <Mma KIND>
__device__ inline void mma(float (&d)[4], const uint32_t (&a)[4], const uint32_t (&b)[2]) {
#if __CUDA_ARCH__ >= 800
  if constexpr (KIND == Mma::bf16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else if constexpr (KIND == Mma::fp16)
    asm volatile("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
  else
    asm volatile("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
                 : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
}

/** `bits`: the value of every factor, twice a half of 1 or a TF32 of 1; run-time, so that nothing folds. */
template <Mma KIND>
__global__ void peakMmaKernel(uint32_t bits, float* sink) {
  const uint32_t a[4] = {bits, bits, bits, bits};
  const uint32_t b[2] = {bits, bits};
  float d[kMmaChains][4];
#pragma unroll
  for (int c = 0; c < kMmaChains; c++) d[c][0] = d[c][1] = d[c][2] = d[c][3] = float(threadIdx.x + c);
#pragma unroll 4
  for (int s = 0; s < kMmaSteps; s++) {
#pragma unroll
    for (int c = 0; c < kMmaChains; c++) mma<KIND>(d[c], a, b);
  }
  float sum = 0;
#pragma unroll
  for (int c = 0; c < kMmaChains; c++) sum += d[c][0] + d[c][1] + d[c][2] + d[c][3];
  if (sum == 1.2345e-30f) *sink = sum;
}

}  // namespace cm_harness

namespace cm {

namespace detail {

/**
 * Operations per second by pipe of main/profile/roofline.json. `span(launch)`: median seconds of one launch. Pipes that this GPU has no
 * instruction for are left out.
 */
template <class Span>
std::string pipePeaks(int computeCapability, float* sink, cudaStream_t s, const Span& span) {
  const int grid = dev::state().sms * 8;
  const double threads = 256.0 * grid;
  const double chained = threads * cm_harness::kPipeChains * cm_harness::kPipeSteps;
  JsonObject out;
  // A GPU for graphics has few fp64 units: a small grid keeps the measurement short there.
  const int few = dev::state().sms * 2;
  double* wide = reinterpret_cast<double*>(sink);
  const double fp64 = span([&] { cm_harness::peakDoubleKernel<<<few, 256, 0, s>>>(0.999, 0.001, wide); });
  out.number("fp64", 2.0 * chained / 4 / fp64);
  const double half = span([&] { cm_harness::peakHalfKernel<<<grid, 256, 0, s>>>(0.999f, 0.001f, sink); });
  out.number("fp16", 4.0 * chained / half);
  if (computeCapability < 80) return out.str();
  using cm_harness::Mma;
  const double warps = threads / 32 * cm_harness::kMmaChains * cm_harness::kMmaSteps;
  const double bf16 = span([&] { cm_harness::peakMmaKernel<Mma::bf16><<<grid, 256, 0, s>>>(0x3f803f80u, sink); });
  const double fp16 = span([&] { cm_harness::peakMmaKernel<Mma::fp16><<<grid, 256, 0, s>>>(0x3c003c00u, sink); });
  const double tf32 = span([&] { cm_harness::peakMmaKernel<Mma::tf32><<<grid, 256, 0, s>>>(0x3f800000u, sink); });
  return out.number("tensor-bf16", warps * (2.0 * 16 * 8 * 16) / bf16)
      .number("tensor-fp16", warps * (2.0 * 16 * 8 * 16) / fp16)
      .number("tensor-tf32", warps * (2.0 * 16 * 8 * 8) / tf32)
      .str();
}

}  // namespace detail

}  // namespace cm
