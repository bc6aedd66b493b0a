// Host memory as device (see device.h): tests of protocol, broker and judge on machines without a GPU. Candidates are host
// shared libraries; there is nothing asynchronous, so waiting and errors are trivial.
#pragma once

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <string>

#include "bodies.h"
#include "error.h"

namespace dev {

using Clock = std::chrono::steady_clock;

inline void init() {}
inline std::string describe() { return "null"; }

/** 256-byte aligned, as cudaMalloc's. */
inline void* allocate(size_t bytes) {
  void* p = nullptr;
  if (posix_memalign(&p, 256, bytes ? bytes : 1) != 0)
    throw cm::CommandError("memory", "host memory exhausted (" + std::to_string(bytes) + " bytes)");
  return p;
}
inline void* allocatePinned(size_t bytes) { return allocate(bytes); }
inline void release(void* p) { std::free(p); }

template <class Body>
void forEach(int64_t count, const Body& body) {
  for (int64_t i = 0; i < count; i++) body(i);
}

inline void copyOut(void* host, const void* device, size_t bytes) {
  if (bytes) std::memcpy(host, device, bytes);
}
inline void copyIn(void* device, const void* host, size_t bytes) {
  if (bytes) std::memcpy(device, host, bytes);
}

inline void sync() {}
inline void closeGate() {}
inline void openGate() {}
inline std::string syncError() { return ""; }
inline std::string takeError() { return ""; }
inline void resetL2(FlushMode) {}
inline void profilerStart() {}
inline void profilerStop() {}

inline Clock::time_point& eventAt(int which) {
  static Clock::time_point at[2];
  return at[which];
}
inline int eventStart() { return eventAt(0) = Clock::now(), 0; }
inline int eventStop() { return eventAt(1) = Clock::now(), 0; }
inline double eventMs() { return std::chrono::duration<double, std::milli>(eventAt(1) - eventAt(0)).count(); }

}  // namespace dev
