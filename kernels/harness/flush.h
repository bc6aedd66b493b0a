// Emptying L2 between calls (GPU only): persisting lines and carve-out are reset, then a private buffer of at least 4 x L2 is
// read (leaves clean lines) or written (leaves dirty lines that the next kernel must evict).
#pragma once

#include "device.h"

namespace cm_harness {

/** Reads everything; the sink is written only if the sum hits one impossible value, which the compiler cannot know. */
__global__ void readAllKernel(const uint4* data, int64_t count, unsigned int* sink) {
  unsigned int sum = 0;
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) {
    const uint4 v = data[i];
    sum |= v.x | v.y | v.z | v.w;
  }
  if (sum == 0xdeadbeefu) *sink = sum;
}

__global__ void writeAllKernel(uint4* data, int64_t count, unsigned int value) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride)
    data[i] = make_uint4(value, value, value, value);
}

}  // namespace cm_harness

namespace dev {

struct FlushBuffer {
  uint4* data = nullptr;
  int64_t count = 0;
  unsigned int* sink = nullptr;
};

inline void launchWriteAll(const FlushBuffer& f) {
  cm_harness::writeAllKernel<<<state().sms * 8, 256, 0, stream()>>>(f.data, f.count, 0u);
  check(cudaGetLastError(), "flush kernel");
}

/** Made at first use and kept: its address never changes between arms. */
inline FlushBuffer& flushBuffer() {
  static FlushBuffer f;
  if (f.data) return f;
  const size_t bytes = std::max<size_t>(4 * state().l2Bytes, 32u << 20);
  f.count = int64_t(bytes / sizeof(uint4));
  f.sink = static_cast<unsigned int*>(allocate(sizeof(unsigned int)));
  f.data = static_cast<uint4*>(allocate(size_t(f.count) * sizeof(uint4)));
  launchWriteAll(f);  // written once: reading it later is not a read of uninitialised memory
  return f;
}

/** A candidate may have set lines aside for itself; nothing of that survives into the next call. */
inline void resetPersisting() {
  if (state().maxPersisting == 0) return;
  size_t carveOut = 0;
  check(cudaDeviceGetLimit(&carveOut, cudaLimitPersistingL2CacheSize), "reading the persisting L2 limit");
  if (carveOut != 0) check(cudaDeviceSetLimit(cudaLimitPersistingL2CacheSize, 0), "resetting the persisting L2 limit");
  check(cudaCtxResetPersistingL2Cache(), "cudaCtxResetPersistingL2Cache");
}

inline void resetL2(FlushMode mode) {
  resetPersisting();
  if (mode == FlushMode::none) return;
  const FlushBuffer& f = flushBuffer();
  if (mode == FlushMode::write) return launchWriteAll(f);
  cm_harness::readAllKernel<<<state().sms * 8, 256, 0, stream()>>>(f.data, f.count, f.sink);
  check(cudaGetLastError(), "flush kernel");
}

}  // namespace dev
