// The device that a runner works on: the GPU (nvcc) or host memory (-DCM_HOST). Both files below implement the same functions
// in namespace dev; everything above them (session.h, runner.cu) is written once.
//
//   void init()                                   selects device 0, makes the context and the harness's own stream
//   std::string describe()                        JSON of gpuInfo, or "null" on the host
//   void* allocate(size_t) / void release(void*)  exact allocation; throws CommandError("memory")
//   forEach(int64_t count, Body)                  body(i) for i in [0, count), on the harness's stream
//   void copyOut(void* host, const void*, size_t) / void copyIn(void*, const void* host, size_t)   both wait
//   void sync()                                   waits for everything on the device; throws CommandError("cuda")
//   std::string syncError() / takeError()         "" or "cudaErrorName: text"; take = peek and clear the pending error
//   void resetL2(FlushMode)                       persisting lines and carve-out reset, then L2 evicted
//   void profilerStart() / profilerStop()         brackets for ncu
//   void eventStart() / eventStop(); double eventMs()   events on the legacy default stream
//
// All work of the harness itself goes to a stream of its own, so that activity records can tell it from a candidate's.
#pragma once

#include <cstddef>
#include <string>

namespace dev {
enum class FlushMode { none, read, write };
}

#if defined(CM_HOST)
#include "device_host.h"
#else
#include "device_cuda.h"
#include "flush.h"
#endif
