// CUPTI activity records of this process (see activity.h).
#pragma once

#include <cxxabi.h>

#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <string>
#include <thread>

#include "activity_log.h"
#include "cupti_api.h"
#include "device.h"

namespace cm_harness {
__global__ void markerKernel() {}
}  // namespace cm_harness

namespace cm {

inline std::string demangle(const std::string& name) {
  int status = 0;
  std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  return status == 0 && text ? std::string(text.get()) : name;
}

class Activity {
 public:
  bool on() const { return on_; }

  void start() {
    if (on_) return;
    if (!api_.enable) {
      api_ = cupti::load(dlsym(RTLD_DEFAULT, "cudaGetLastError"), CUDART_VERSION);
      instance() = this;
      api_.check(api_.registerCallbacks(&Activity::requested, &Activity::completed), "cuptiActivityRegisterCallbacks");
    }
    for (const uint32_t kind : kKinds) api_.check(api_.enable(kind), "cuptiActivityEnable");
    on_ = true;
    try {
      mark();
      dev::sync();
      settle();
    } catch (...) {
      stop();
      throw;
    }
    drain();
  }

  void stop() {
    if (!on_) return;
    on_ = false;
    for (const uint32_t kind : kKinds) api_.check(api_.disable(kind), "cuptiActivityDisable");
    api_.check(api_.flushAll(0), "cuptiActivityFlushAll");
    log_.drainOutside();
  }

  void mark() {
    cm_harness::markerKernel<<<1, 1, 0, dev::stream()>>>();
    dev::check(cudaGetLastError(), "marker kernel");
    marksMade_++;
  }

  /** Flushes until every marker launched so far has been delivered. Throws CommandError("cupti") after two seconds. */
  void settle() {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    for (int tries = 0;; tries++) {
      api_.check(api_.flushAll(0), "cuptiActivityFlushAll");
      if (marksSeen_.load() >= marksMade_) return;
      if (std::chrono::steady_clock::now() > limit) {
        marksMade_ = marksSeen_.load();
        throw CommandError("cupti", "activity records stopped coming: the harness's own marker was not delivered");
      }
      // The record is microseconds away: a sleep of the operating system's granularity would cost more than the call.
      if (tries > 64) std::this_thread::sleep_for(std::chrono::microseconds(50));
    }
  }

  void drain() { log_.drainOutside(); }

  int64_t dropped() {
    size_t lost = 0;
    api_.check(api_.droppedRecords(nullptr, 0, &lost), "cuptiActivityGetNumDroppedRecords");
    return int64_t(lost);
  }

  uint64_t now() const {
    uint64_t ns = 0;
    api_.check(api_.timestamp(&ns), "cuptiGetTimestamp");
    return ns;
  }

  Window closeCall(uint64_t begin, uint64_t end) {
    mark();
    dev::sync();
    settle();
    return log_.close(begin, end);
  }

  uint64_t step() const { return log_.step(); }

  /** The next call launches one gate of ours on the legacy stream. */
  void expectGate() { gatesMade_++; }

  /** Newest valid record of the harness's own stream that is no marker; start = 0 if none since the last call. */
  Record lastOwn() {
    std::lock_guard<std::mutex> lock(ownMutex_);
    Record r;
    std::swap(r, lastOwn_);
    return r;
  }

 private:
  static constexpr uint32_t kKinds[] = {cupti::kConcurrentKernel, cupti::kMemcpy, cupti::kPeerMemcpy, cupti::kMemset};
  static constexpr size_t kBufferBytes = 512u << 10;

  static Activity*& instance() {
    static Activity* a = nullptr;
    return a;
  }

  /** Buffers are kept and handed out again: a request comes in the middle of a call, where fresh pages would cost time. */
  struct BufferPool {
    std::mutex mutex;
    std::vector<uint8_t*> free;
  };
  static BufferPool& pool() {
    static BufferPool* p = new BufferPool;  // CUPTI may still call back while the process ends
    return *p;
  }

  static void requested(uint8_t** buffer, size_t* bytes, size_t* maxRecords) {
    std::lock_guard<std::mutex> lock(pool().mutex);
    if (pool().free.empty()) {
      *buffer = static_cast<uint8_t*>(std::aligned_alloc(64, kBufferBytes));
    } else {
      *buffer = pool().free.back();
      pool().free.pop_back();
    }
    *bytes = *buffer ? kBufferBytes : 0;
    *maxRecords = 0;  // as many as fit
  }

  static void completed(void*, uint32_t, uint8_t* buffer, size_t, size_t validBytes) {
    if (instance() && validBytes > 0) instance()->parse(buffer, validBytes);
    std::lock_guard<std::mutex> lock(pool().mutex);
    pool().free.push_back(buffer);
  }

  void parse(uint8_t* buffer, size_t validBytes) {
    void* record = nullptr;
    while (api_.nextRecord(buffer, validBytes, &record) == cupti::kSuccess) {
      switch (*static_cast<const uint32_t*>(record)) {
        case cupti::kKernel:
        case cupti::kConcurrentKernel: take(fromKernel(*static_cast<const cupti::KernelRecord*>(record))); break;
        case cupti::kMemcpy:
        case cupti::kPeerMemcpy: take(fromCopy(*static_cast<const cupti::MemcpyRecord*>(record))); break;
        case cupti::kMemset: take(fromSet(*static_cast<const cupti::MemsetRecord*>(record))); break;
        default: break;
      }
    }
  }

  static Record fromKernel(const cupti::KernelRecord& k) {
    Record r;
    r.kind = Record::Kind::kernel;
    r.name = k.name ? k.name : "(unnamed kernel)";
    r.start = k.start, r.end = k.end, r.stream = k.streamId;
    r.grid = {k.gridX, k.gridY, k.gridZ};
    r.block = {k.blockX, k.blockY, k.blockZ};
    r.registers = k.registersPerThread;
    r.sharedStatic = k.staticSharedMemory, r.sharedDynamic = k.dynamicSharedMemory;
    return r;
  }

  static Record fromCopy(const cupti::MemcpyRecord& c) {
    static const char* const names[] = {"unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP"};
    Record r;
    r.kind = Record::Kind::memcpy;
    r.name = c.copyKind < sizeof names / sizeof *names ? names[c.copyKind] : "unknown";
    r.start = c.start, r.end = c.end, r.stream = c.streamId;
    return r;
  }

  static Record fromSet(const cupti::MemsetRecord& s) {
    Record r;
    r.kind = Record::Kind::memset;
    r.name = "memset";
    r.start = s.start, r.end = s.end, r.stream = s.streamId;
    return r;
  }

  /** The first marker tells which stream is ours; everything on that stream is the harness's own work. */
  void take(Record r) {
    const bool marker = r.kind == Record::Kind::kernel && r.name.find("cm_harness") != std::string::npos &&
                        r.name.find("markerKernel") != std::string::npos;
    if (marker && !ownKnown_) ownStream_ = r.stream, ownKnown_ = true;
    // Only as many gates and tails as we launched are ours: a candidate's kernel of such a name counts as its work.
    const bool ours = r.kind == Record::Kind::kernel && r.name.find("cm_harness") != std::string::npos;
    if (ours && r.name.find("gateKernel") != std::string::npos && gatesSeen_ < gatesMade_) {
      gatesSeen_++;
      return log_.noteGate(r);
    }
    if (ours && r.name.find("tailKernel") != std::string::npos && tailsSeen_ < gatesMade_) {
      tailsSeen_++;
      return log_.noteTail(r);
    }
    if (!ownKnown_) return;  // nothing before the first marker can be a candidate's: recording starts between calls
    if (r.stream != ownStream_) return log_.add(std::move(r));
    if (marker) {
      marksSeen_++;
    } else if (r.valid()) {
      std::lock_guard<std::mutex> lock(ownMutex_);
      lastOwn_ = std::move(r);
    }
  }

  cupti::Api api_;
  bool on_ = false;
  ActivityLog log_;
  int64_t marksMade_ = 0;
  std::atomic<int64_t> marksSeen_{0};
  std::atomic<int64_t> gatesMade_{0}, gatesSeen_{0}, tailsSeen_{0};
  std::atomic<bool> ownKnown_{false};
  uint32_t ownStream_ = 0;
  std::mutex ownMutex_;
  Record lastOwn_;
};

}  // namespace cm
