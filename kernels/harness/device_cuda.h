// The GPU as device (see device.h).
#pragma once

#include <cuda_profiler_api.h>
#include <cuda_runtime.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bodies.h"
#include "error.h"
#include "json.h"

namespace cm_harness {

/** Grid-stride loop over a body. */
template <class Body>
__global__ void forEachKernel(int64_t count, Body body) {
  const int64_t stride = int64_t(gridDim.x) * blockDim.x;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += stride) body(i);
}

/** Holds its stream until the host writes the ticket, or until the bound has passed. */
__global__ void gateKernel(const volatile unsigned* open, unsigned ticket, unsigned long long boundNs) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    if (*open == ticket) return;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < boundNs);
}

/** Stands in for the caller's next work on the legacy stream. */
__global__ void tailKernel() {}

}  // namespace cm_harness

namespace dev {

inline std::string errorText(cudaError_t e) {
  return e == cudaSuccess ? std::string() : std::string(cudaGetErrorName(e)) + ": " + cudaGetErrorString(e);
}

/** Throws CommandError("cuda", "cudaErrorName: text (what)"). */
inline void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  cudaGetLastError();
  throw cm::CommandError("cuda", errorText(e) + " (" + what + ")");
}

struct State {
  bool ready = false;
  cudaStream_t stream = nullptr;
  cudaEvent_t begin = nullptr, end = nullptr;
  int sms = 0;
  size_t l2Bytes = 0;
  size_t maxPersisting = 0;
  /** Pinned word that opens the gate, and the ticket that the newest gate waits for. */
  volatile unsigned* gate = nullptr;
  unsigned ticket = 0;
};
inline State& state() {
  static State s;
  return s;
}
inline cudaStream_t stream() { return state().stream; }

inline int attribute(cudaDeviceAttr a) {
  int v = 0;
  check(cudaDeviceGetAttribute(&v, a, 0), "cudaDeviceGetAttribute");
  return v;
}

template <class Body>
void forEach(int64_t count, const Body& body) {
  if (count <= 0) return;
  const int64_t wanted = (count + 255) / 256;
  const int blocks = int(std::min<int64_t>(wanted, int64_t(state().sms) * 32));
  cm_harness::forEachKernel<<<blocks, 256, 0, stream()>>>(count, body);
  check(cudaGetLastError(), "harness kernel");
}

inline void* allocate(size_t bytes) {
  void* p = nullptr;
  const cudaError_t e = cudaMalloc(&p, bytes);
  if (e == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw cm::CommandError("memory", errorText(e) + " (" + std::to_string(bytes) + " bytes)");
  }
  check(e, "cudaMalloc");
  return p;
}

/** Never throws: after a poisoned context there is nothing left to free. */
inline void release(void* p) {
  if (p && cudaFree(p) != cudaSuccess) cudaGetLastError();
}

inline void copyOut(void* host, const void* device, size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(host, device, bytes, cudaMemcpyDeviceToHost, stream()), "copy to host");
  check(cudaStreamSynchronize(stream()), "copy to host");
}

inline void copyIn(void* device, const void* host, size_t bytes) {
  if (bytes == 0) return;
  check(cudaMemcpyAsync(device, host, bytes, cudaMemcpyHostToDevice, stream()), "copy to device");
  check(cudaStreamSynchronize(stream()), "copy to device");
}

inline void* allocatePinned(size_t bytes) {
  void* p = nullptr;
  check(cudaMallocHost(&p, bytes), "cudaMallocHost");
  return p;
}

/** A wrapper that waits for the GPU itself would never return while the gate is shut: it opens by itself after this. */
constexpr unsigned long long kGateBoundNs = 250'000;

inline void closeGate() {
  State& s = state();
  cm_harness::gateKernel<<<1, 1, 0, cudaStreamLegacy>>>(s.gate, ++s.ticket, kGateBoundNs);
  check(cudaGetLastError(), "gate kernel");
}
/** Queues the stand-in for the caller's next work, then lets everything go. */
inline void openGate() {
  cm_harness::tailKernel<<<1, 1, 0, cudaStreamLegacy>>>();
  *state().gate = state().ticket;
}

inline std::string syncError() { return errorText(cudaDeviceSynchronize()); }
inline std::string takeError() { return errorText(cudaGetLastError()); }
inline void sync() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

inline void profilerStart() { check(cudaProfilerStart(), "cudaProfilerStart"); }
inline void profilerStop() { check(cudaProfilerStop(), "cudaProfilerStop"); }
inline cudaError_t eventStart() { return cudaEventRecord(state().begin, cudaStreamLegacy); }
inline cudaError_t eventStop() { return cudaEventRecord(state().end, cudaStreamLegacy); }

/** Milliseconds between the two events; -1 if they were not recorded. */
inline double eventMs() {
  float ms = 0;
  if (cudaEventElapsedTime(&ms, state().begin, state().end) == cudaSuccess) return ms;
  cudaGetLastError();
  return -1;
}

/** Touches what the driver makes lazily (its threads, the copy engine, this module), so that a candidate is not blamed for it. */
inline void warmUp() {
  cm::Tally host{1, 1};
  void* p = allocate(sizeof host);
  forEach(1, cm::PoisonBody{p, cm::Storage::i32});
  copyIn(p, &host, sizeof host);
  copyOut(&host, p, sizeof host);
  check(eventStart(), "event");
  check(eventStop(), "event");
  sync();
  release(p);
}

inline void init() {
  if (state().ready) return;
  check(cudaSetDevice(0), "cudaSetDevice");
  check(cudaFree(nullptr), "making the context");
  State& s = state();
  s.sms = attribute(cudaDevAttrMultiProcessorCount);
  s.l2Bytes = size_t(attribute(cudaDevAttrL2CacheSize));
  s.maxPersisting = size_t(attribute(cudaDevAttrMaxPersistingL2CacheSize));
  check(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking), "cudaStreamCreate");
  check(cudaEventCreate(&s.begin), "cudaEventCreate");
  check(cudaEventCreate(&s.end), "cudaEventCreate");
  s.gate = static_cast<volatile unsigned*>(allocatePinned(sizeof(unsigned)));
  *s.gate = 0;
  closeGate();
  openGate();
  warmUp();
  s.ready = true;
}

inline std::string uuidText(const cudaUUID_t& uuid) {
  static const char hex[] = "0123456789abcdef";
  std::string out = "GPU-";
  for (int i = 0; i < 16; i++) {
    const unsigned char byte = static_cast<unsigned char>(uuid.bytes[i]);
    out += hex[byte >> 4], out += hex[byte & 15];
    if (i == 3 || i == 5 || i == 7 || i == 9) out += '-';
  }
  return out;
}

inline std::string describe() {
  cudaDeviceProp prop;
  check(cudaGetDeviceProperties(&prop, 0), "cudaGetDeviceProperties");
  int driver = 0, runtime = 0;
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  return cm::JsonObject()
      .text("name", prop.name)
      .text("uuid", uuidText(prop.uuid))
      .text("cc", std::to_string(prop.major) + "." + std::to_string(prop.minor))
      .integer("sms", state().sms)
      .integer("l2Bytes", int64_t(state().l2Bytes))
      .integer("memoryBytes", int64_t(prop.totalGlobalMem))
      .number("smClockMHz", attribute(cudaDevAttrClockRate) / 1000.0)
      .number("memClockMHz", attribute(cudaDevAttrMemoryClockRate) / 1000.0)
      .integer("maxThreadsPerSm", prop.maxThreadsPerMultiProcessor)
      .integer("regsPerSm", prop.regsPerMultiprocessor)
      .integer("sharedPerSm", int64_t(prop.sharedMemPerMultiprocessor))
      .integer("sharedPerBlockOptin", int64_t(prop.sharedMemPerBlockOptin))
      .integer("driver", driver)
      .integer("runtime", runtime)
      .str();
}

}  // namespace dev
