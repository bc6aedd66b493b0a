// The part of CUPTI that we use, loaded with dlopen. Record layouts are written out here as prefixes that have not changed from
// CUDA 11 to 13, so that one runner builds with any toolkit (also one without CUPTI headers); where the header is present,
// every offset is checked against it at compile time.
#pragma once

#include <dlfcn.h>

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <vector>

#include "error.h"

#if defined(__has_include)
#if __has_include(<cupti.h>)
#include <cupti.h>
#define CM_HAVE_CUPTI_HEADER 1
#endif
#endif

namespace cupti {

constexpr uint32_t kMemcpy = 1, kMemset = 2, kKernel = 3, kConcurrentKernel = 10, kPeerMemcpy = 22;
constexpr int kSuccess = 0, kMaxLimitReached = 12;

struct KernelRecord {
  uint32_t kind;
  uint8_t cacheConfig, sharedMemoryConfig;
  uint16_t registersPerThread;
  uint32_t partitionedRequested, partitionedExecuted;
  uint64_t start, end, completed;
  uint32_t deviceId, contextId, streamId;
  int32_t gridX, gridY, gridZ, blockX, blockY, blockZ;
  int32_t staticSharedMemory, dynamicSharedMemory;
  uint32_t localMemoryPerThread, localMemoryTotal, correlationId;
  int64_t gridId;
  const char* name;
};

/** Memcpy and peer memcpy alike. */
struct MemcpyRecord {
  uint32_t kind;
  uint8_t copyKind, srcKind, dstKind, flags;
  uint64_t bytes, start, end;
  uint32_t deviceId, contextId, streamId;
};

struct MemsetRecord {
  uint32_t kind, value;
  uint64_t bytes, start, end;
  uint32_t deviceId, contextId, streamId;
};

#if defined(CM_HAVE_CUPTI_HEADER)
#if CUPTI_API_VERSION >= 130000
using HeaderKernel = CUpti_ActivityKernel10;
using HeaderMemcpy = CUpti_ActivityMemcpy6;
using HeaderMemset = CUpti_ActivityMemset4;
#else
using HeaderKernel = CUpti_ActivityKernel4;
using HeaderMemcpy = CUpti_ActivityMemcpy;
using HeaderMemset = CUpti_ActivityMemset;
#endif
#define CM_SAME(OURS, THEIRS, FIELD) static_assert(offsetof(OURS, FIELD) == offsetof(THEIRS, FIELD), #OURS "." #FIELD)
CM_SAME(KernelRecord, HeaderKernel, registersPerThread);
CM_SAME(KernelRecord, HeaderKernel, start);
CM_SAME(KernelRecord, HeaderKernel, end);
CM_SAME(KernelRecord, HeaderKernel, streamId);
CM_SAME(KernelRecord, HeaderKernel, gridX);
CM_SAME(KernelRecord, HeaderKernel, blockZ);
CM_SAME(KernelRecord, HeaderKernel, staticSharedMemory);
CM_SAME(KernelRecord, HeaderKernel, dynamicSharedMemory);
CM_SAME(KernelRecord, HeaderKernel, name);
CM_SAME(MemcpyRecord, HeaderMemcpy, copyKind);
CM_SAME(MemcpyRecord, HeaderMemcpy, start);
CM_SAME(MemcpyRecord, HeaderMemcpy, streamId);
CM_SAME(MemcpyRecord, CUpti_ActivityMemcpyPtoP, start);
CM_SAME(MemcpyRecord, CUpti_ActivityMemcpyPtoP, streamId);
CM_SAME(MemsetRecord, HeaderMemset, start);
CM_SAME(MemsetRecord, HeaderMemset, streamId);
#undef CM_SAME
static_assert(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL == kConcurrentKernel && CUPTI_ACTIVITY_KIND_MEMCPY2 == kPeerMemcpy, "record kinds");
static_assert(CUPTI_ERROR_MAX_LIMIT_REACHED == kMaxLimitReached, "end of buffer");
#endif

struct Api {
  int (*registerCallbacks)(void (*requested)(uint8_t**, size_t*, size_t*),
                           void (*completed)(void*, uint32_t, uint8_t*, size_t, size_t)) = nullptr;
  int (*enable)(uint32_t kind) = nullptr;
  int (*disable)(uint32_t kind) = nullptr;
  int (*flushAll)(uint32_t flag) = nullptr;
  int (*nextRecord)(uint8_t* buffer, size_t validBytes, void** record) = nullptr;
  int (*droppedRecords)(void* context, uint32_t stream, size_t* dropped) = nullptr;
  int (*timestamp)(uint64_t* ns) = nullptr;
  int (*resultString)(int result, const char** text) = nullptr;

  void check(int result, const char* what) const {
    if (result == kSuccess) return;
    const char* text = nullptr;
    if (resultString) resultString(result, &text);
    throw cm::CommandError("cupti", std::string(what) + ": " + (text ? text : "CUPTI error") + " (" + std::to_string(result) + ")");
  }
};

namespace detail {

/** CM_CUPTI, then beside the CUDA runtime in use and in that toolkit's extras, then the loader's own search. */
inline std::vector<std::string> candidates(void* inRuntime, int runtimeVersion) {
  const std::string major = std::to_string(runtimeVersion / 1000);
  const std::string minor = std::to_string(runtimeVersion % 1000 / 10);
  std::vector<std::string> folders;
  Dl_info info{};
  if (inRuntime && dladdr(inRuntime, &info) && info.dli_fname) {
    const std::string path = info.dli_fname;
    const size_t slash = path.rfind('/');
    if (slash != std::string::npos) {
      const std::string lib = path.substr(0, slash + 1);
      for (const char* sub : {"", "../lib64/", "../lib/", "../extras/CUPTI/lib64/", "../../../extras/CUPTI/lib64/"}) folders.push_back(lib + sub);
    }
  }
  folders.push_back("");
  std::vector<std::string> out;
  if (const char* named = std::getenv("CM_CUPTI"); named && *named) out.push_back(named);
  for (const std::string& f : folders)
    for (const std::string& n : {"libcupti.so." + major, "libcupti.so." + major + "." + minor, std::string("libcupti.so")}) out.push_back(f + n);
  return out;
}

template <class F>
void resolve(void* lib, const char* name, F& into) {
  into = reinterpret_cast<F>(dlsym(lib, name));
  if (!into) throw cm::CommandError("cupti", std::string("libcupti has no ") + name);
}

}  // namespace detail

/** Loads libcupti; inRuntime is any address inside libcudart. Throws CommandError("cupti") with the loader's words. */
inline Api load(void* inRuntime, int runtimeVersion) {
  void* lib = nullptr;
  std::string why;
  for (const std::string& path : detail::candidates(inRuntime, runtimeVersion)) {
    lib = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (lib) break;
    if (const char* e = dlerror(); e && why.empty()) why = e;
  }
  if (!lib) throw cm::CommandError("cupti", "libcupti was not found (set CM_CUPTI to its path): " + why);
  Api a;
  detail::resolve(lib, "cuptiActivityRegisterCallbacks", a.registerCallbacks);
  detail::resolve(lib, "cuptiActivityEnable", a.enable);
  detail::resolve(lib, "cuptiActivityDisable", a.disable);
  detail::resolve(lib, "cuptiActivityFlushAll", a.flushAll);
  detail::resolve(lib, "cuptiActivityGetNextRecord", a.nextRecord);
  detail::resolve(lib, "cuptiActivityGetNumDroppedRecords", a.droppedRecords);
  detail::resolve(lib, "cuptiGetTimestamp", a.timestamp);
  detail::resolve(lib, "cuptiGetResultString", a.resultString);
  return a;
}

}  // namespace cupti
