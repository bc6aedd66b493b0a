// Host device: a call is its own only activity (see activity.h).
#pragma once

#include <chrono>
#include <string>

#include "activity_log.h"

namespace cm {

inline std::string demangle(const std::string& name) { return name; }

class Activity {
 public:
  bool on() const { return on_; }
  void start() { on_ = true; }
  void stop() { on_ = false; }
  void mark() {}
  void expectGate() {}
  void settle() {}
  void drain() { log_.drainOutside(); }
  int64_t dropped() { return 0; }
  uint64_t step() const { return log_.step(); }

  uint64_t now() const {
    return uint64_t(std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
  }

  Window closeCall(uint64_t begin, uint64_t end) {
    Record r;
    r.name = "host_call";
    r.start = begin, r.end = end;
    r.grid = r.block = {1, 1, 1};
    log_.add(r);
    return log_.close(begin, end);
  }

 private:
  bool on_ = false;
  ActivityLog log_;
};

}  // namespace cm
