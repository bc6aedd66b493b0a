// Activity records and their windows: which GPU work belongs to which call (pure logic, the same for GPU and host).
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "json.h"

namespace cm {

struct Record {
  enum class Kind { kernel, memcpy, memset };
  Kind kind = Kind::kernel;
  std::string name;
  uint64_t start = 0, end = 0;
  uint32_t stream = 0;
  std::array<int64_t, 3> grid{}, block{};
  int64_t registers = 0, sharedStatic = 0, sharedDynamic = 0;

  /** Time stamps of zero or running backwards: the record says that work ran, not when. */
  bool valid() const { return start != 0 && end >= start; }
};

inline const char* kindName(Record::Kind k) {
  return k == Record::Kind::kernel ? "kernel" : k == Record::Kind::memcpy ? "memcpy" : "memset";
}

/** What happened on the device between begin and end of one call. */
struct Window {
  uint64_t begin = 0, end = 0;
  std::vector<Record> records;
  /** Records since the window before that belong to no window: work outside any call. */
  int64_t late = 0;
  /** Records of the window before that were delivered after it closed: its span was incomplete. */
  int64_t stragglers = 0;
  /** Records of this window without usable time stamps. */
  int64_t invalid = 0;
  /**
   * Gated calls: work that began before the caller's earlier work on the legacy stream had ended (the gate), and work that had not
   * ended when the caller's next work there began (the tail). Either way it is not in order with its caller.
   */
  int64_t early = 0, unjoined = 0;

  bool hasSpan() const { return !records.empty() && invalid == 0; }
  uint64_t first() const {
    uint64_t t = ~0ull;
    for (const Record& r : records) t = std::min(t, r.start);
    return t;
  }
  uint64_t last() const {
    uint64_t t = 0;
    for (const Record& r : records) t = std::max(t, r.end);
    return t;
  }
};

/**
 * Sorts records into windows. Time stamps of device and host are brought to one clock by CUPTI with a small error, hence the
 * slack; it does not weaken the check, because everything delivered before a call is classed before the call begins.
 */
class ActivityLog {
 public:
  static constexpr uint64_t kSlackNs = 30'000;

  void add(Record r) {
    std::lock_guard<std::mutex> lock(mutex_);
    pending_.push_back(std::move(r));
  }

  /** Gate and tail of the next call to be closed. */
  void noteGate(const Record& r) { gateEnd_ = r.valid() ? r.end : 0; }
  void noteTail(const Record& r) { tailStart_ = r.valid() ? r.start : 0; }

  /** Classes everything delivered so far as work outside of calls (or stragglers of the window before). */
  void drainOutside() {
    for (const Record& r : take()) classOutside(r);
  }

  /** Closes the window of a call; everything delivered since the last drain is classed. */
  Window close(uint64_t begin, uint64_t end) {
    Window w;
    w.begin = begin, w.end = end;
    for (Record& r : take()) {
      const bool inside = !r.valid() || (r.start + kSlackNs >= begin && r.end <= end + kSlackNs);
      if (!inside) {
        classOutside(r);
        continue;
      }
      if (!r.valid()) w.invalid++;
      w.records.push_back(std::move(r));
    }
    w.late = late_, w.stragglers = stragglers_;
    late_ = stragglers_ = 0;
    for (const Record& r : w.records) {
      if (r.valid() && gateEnd_ != 0 && r.start < gateEnd_) w.early++;
      if (r.valid() && tailStart_ != 0 && r.end > tailStart_) w.unjoined++;
    }
    gateEnd_ = tailStart_ = 0;
    lastBegin_ = begin, lastEnd_ = end;
    return w;
  }

  /** Smallest difference between distinct time stamps seen, ns; 0 while unknown. */
  uint64_t step() const { return step_; }

 private:
  std::vector<Record> take() {
    std::vector<Record> out;
    {
      std::lock_guard<std::mutex> lock(mutex_);
      out.swap(pending_);
    }
    learnStep(out);
    return out;
  }

  void classOutside(const Record& r) {
    const bool before = r.valid() && lastEnd_ != 0 && r.start + kSlackNs >= lastBegin_ && r.end <= lastEnd_;
    if (before) stragglers_++;
    else late_++;
  }

  void learnStep(const std::vector<Record>& records) {
    std::vector<uint64_t> stamps;
    for (const Record& r : records)
      if (r.valid()) stamps.push_back(r.start), stamps.push_back(r.end);
    std::sort(stamps.begin(), stamps.end());
    for (size_t i = 1; i < stamps.size(); i++) {
      const uint64_t d = stamps[i] - stamps[i - 1];
      if (d > 0 && (step_ == 0 || d < step_)) step_ = d;
    }
  }

  std::mutex mutex_;
  std::vector<Record> pending_;
  int64_t late_ = 0, stragglers_ = 0;
  std::atomic<uint64_t> gateEnd_{0}, tailStart_{0};
  uint64_t lastBegin_ = 0, lastEnd_ = 0, step_ = 0;
};

namespace detail {

struct ActivityGroup {
  const Record* first = nullptr;
  int64_t n = 0;
  uint64_t ns = 0;
};

inline std::string triple(const std::array<int64_t, 3>& a) {
  return JsonArray().add(std::to_string(a[0])).add(std::to_string(a[1])).add(std::to_string(a[2])).str();
}

inline std::string groupJson(const ActivityGroup& g, const std::string& name) {
  const Record& r = *g.first;
  JsonObject o;
  o.text("kind", kindName(r.kind)).text("name", name).integer("n", g.n).integer("ns", int64_t(g.ns));
  if (r.kind == Record::Kind::kernel)
    o.raw("grid", triple(r.grid)).raw("block", triple(r.block)).integer("regs", r.registers).integer("shs", r.sharedStatic).integer("shd", r.sharedDynamic);
  return o.str();
}

}  // namespace detail

/** `acts` of the reply: grouped by kind and name in order of first start; ns is the sum over the group. */
template <class Demangle>
std::string activitiesJson(const Window& w, const Demangle& demangle) {
  std::vector<const Record*> order;
  for (const Record& r : w.records) order.push_back(&r);
  std::stable_sort(order.begin(), order.end(), [](const Record* a, const Record* b) { return a->start < b->start; });
  std::vector<detail::ActivityGroup> groups;
  for (const Record* r : order) {
    auto same = [&](const detail::ActivityGroup& g) { return g.first->kind == r->kind && g.first->name == r->name; };
    auto g = std::find_if(groups.begin(), groups.end(), same);
    if (g == groups.end()) g = groups.insert(groups.end(), detail::ActivityGroup{r, 0, 0});
    g->n++;
    if (r->valid()) g->ns += r->end - r->start;
  }
  JsonArray out;
  for (const detail::ActivityGroup& g : groups) out.add(detail::groupJson(g, demangle(g.first->name)));
  return out.str();
}

}  // namespace cm
