// Device memory, errors and events for the stand-alone test program. -DCM_HOST: host memory stands in for the GPU's (tests of the
// program itself on machines without one).
#pragma once

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "error.h"

#if !defined(CM_HOST)
#include <cuda_runtime_api.h>
#endif

namespace dev {

#if defined(CM_HOST)

inline std::string open() { return "host memory instead of a GPU"; }
inline size_t freeBytes() { return size_t(4) << 30; }
inline void* allocate(size_t bytes) { return std::aligned_alloc(256, (bytes + 255) / 256 * 256); }
inline void release(void* p) { std::free(p); }
inline void toDevice(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
inline void toHost(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
inline void copy(void* to, const void* from, size_t bytes) { std::memcpy(to, from, bytes); }
inline void fill(void* p, int byte, size_t bytes) { std::memset(p, byte, bytes); }
inline void sync(const char*) {}

/** Time between start() and stop(), microseconds. */
class Stopwatch {
 public:
  void start() { begin_ = std::chrono::steady_clock::now(); }
  double stop() { return std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin_).count(); }

 private:
  std::chrono::steady_clock::time_point begin_;
};

#else

/** Throws CommandError("cuda", "name: text (what)"). */
inline void check(cudaError_t e, const char* what) {
  if (e == cudaSuccess) return;
  cudaGetLastError();
  throw cm::CommandError("cuda", std::string(cudaGetErrorName(e)) + ": " + cudaGetErrorString(e) + " (" + what + ")");
}

/** Makes sure that there is a GPU; gives back what it is. Throws CommandError("gpu"). */
inline std::string open() {
  int count = 0, driver = 0, runtime = 0;
  const cudaError_t e = cudaGetDeviceCount(&count);
  if (e != cudaSuccess || count == 0)
    throw cm::CommandError("gpu", std::string("no usable NVIDIA GPU: ") + (e == cudaSuccess ? "none found" : cudaGetErrorString(e)));
  cudaDeviceProp p{};
  check(cudaGetDeviceProperties(&p, 0), "cudaGetDeviceProperties");
  cudaDriverGetVersion(&driver);
  cudaRuntimeGetVersion(&runtime);
  const auto version = [](int v) { return std::to_string(v / 1000) + "." + std::to_string(v % 1000 / 10); };
  return std::string(p.name) + " (sm_" + std::to_string(p.major) + std::to_string(p.minor) + "), driver for CUDA " + version(driver) +
         ", runtime " + version(runtime);
}

inline size_t freeBytes() {
  size_t free = 0, total = 0;
  check(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  return free;
}
inline void* allocate(size_t bytes) {
  void* p = nullptr;
  check(cudaMalloc(&p, bytes), "cudaMalloc");
  return p;
}
inline void release(void* p) { cudaFree(p); }
inline void toDevice(void* to, const void* from, size_t bytes) { check(cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice), "copy to the GPU"); }
inline void toHost(void* to, const void* from, size_t bytes) { check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToHost), "copy from the GPU"); }
inline void copy(void* to, const void* from, size_t bytes) { check(cudaMemcpy(to, from, bytes, cudaMemcpyDeviceToDevice), "copy on the GPU"); }
inline void fill(void* p, int byte, size_t bytes) { check(cudaMemset(p, byte, bytes), "cudaMemset"); }
inline void sync(const char* what) { check(cudaDeviceSynchronize(), what); }

/** Time between start() and stop() by events on the default stream, microseconds. */
class Stopwatch {
 public:
  Stopwatch() {
    check(cudaEventCreate(&begin_), "cudaEventCreate");
    check(cudaEventCreate(&end_), "cudaEventCreate");
  }
  ~Stopwatch() { cudaEventDestroy(begin_), cudaEventDestroy(end_); }
  Stopwatch(const Stopwatch&) = delete;
  void start() { check(cudaEventRecord(begin_), "cudaEventRecord"); }
  double stop() {
    float ms = 0;
    check(cudaEventRecord(end_), "cudaEventRecord");
    check(cudaEventSynchronize(end_), "the timed call");
    check(cudaEventElapsedTime(&ms, begin_, end_), "cudaEventElapsedTime");
    return double(ms) * 1e3;
  }

 private:
  cudaEvent_t begin_, end_;
};

#endif

}  // namespace dev
