// One call of one arm, and what is observed around it.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "activity.h"
#include "arms.h"
#include "buffers.h"
#include "device.h"
#include "threads.h"

namespace cm {

enum class Quantity { plain, wrapper, span, gated, event, profile };

inline Quantity parseQuantity(const std::string& s) {
  if (s == "plain") return Quantity::plain;
  if (s == "wrapper") return Quantity::wrapper;
  if (s == "span") return Quantity::span;
  if (s == "gated") return Quantity::gated;
  if (s == "event") return Quantity::event;
  if (s == "profile") return Quantity::profile;
  usage("unknown quantity: " + s);
}

/** Generic arguments of a problem; pointers are those of the device buffers. */
inline std::vector<CallArg> makeArgs(const Buffers& buffers) {
  std::vector<CallArg> out;
  for (const ArgSpec& a : buffers.spec().args) {
    CallArg v{};
    if (a.type == 'p') v.pointer = buffers.data(a.buffer);
    else if (a.type == 'i') v.i = int(a.integer);
    else if (a.type == 'l') v.l = long(a.integer);
    else if (a.type == 'f') v.f = float(decode(Storage::f32, encode(Storage::f32, a.real)));
    else v.h = static_cast<unsigned short>(encode(Storage::bf16, a.real));
    out.push_back(v);
  }
  return out;
}

/** What a call needs, resolved beforehand: nothing is looked up or allocated between prepare and the call. */
struct CallTarget {
  const Shim& shim;
  void* wrapper;
  const CallArg* args;
  void operator()() const { shim(wrapper, args); }
};

struct CallReport {
  double wrapperNs = 0;
  bool hasEvent = false;
  double eventNs = 0;
  std::string error;
  size_t threadsBefore = 0, threadsAfter = 0;
  std::vector<std::string> newThreads;
  bool hasWindow = false;
  Window window;
  int64_t dropped = 0;
};

namespace detail {

struct RawTimes {
  uint64_t begin = 0, end = 0;
  std::chrono::steady_clock::time_point t0, t1;
  std::string launchError, syncError;
};

inline bool wantsSpan(Quantity q) { return q == Quantity::span || q == Quantity::gated; }

/**
 * The bare sequence: call, pending error, device sync. Everything else happens outside of t0 … t1.
 * Gated: a kernel of ours holds the legacy stream until the wrapper has returned (or a bound has passed, for wrappers that wait
 * inside), so that the span is what the GPU needs, without the host's launch gaps, which activity recording stretches.
 */
inline RawTimes callOnce(const CallTarget& target, Quantity quantity, const Activity& activity) {
  RawTimes r;
  if (activity.on()) r.begin = activity.now();
  if (quantity == Quantity::event) dev::eventStart();
  if (quantity == Quantity::gated) dev::closeGate();
  r.t0 = std::chrono::steady_clock::now();
  target();
  if (quantity == Quantity::gated) dev::openGate();
  if (quantity == Quantity::event) dev::eventStop();
  r.launchError = dev::takeError();
  r.syncError = dev::syncError();
  r.t1 = std::chrono::steady_clock::now();
  if (activity.on()) r.end = activity.now();
  return r;
}

inline std::string firstOf(const std::string& a, const std::string& b, const std::string& c) {
  return !a.empty() ? a : !b.empty() ? b : c;
}

}  // namespace detail

/** Exactly one call. An error of the candidate is part of the report; errors of the harness itself are thrown. */
inline CallReport callArm(const CallTarget& target, Quantity quantity, Activity& activity) {
  if (detail::wantsSpan(quantity) && !activity.on()) usage("span needs cupti on");
  if (quantity == Quantity::gated) activity.expectGate();
  CallReport report;
  if (quantity == Quantity::profile) dev::profilerStart();
  const auto before = threadIds();
  const detail::RawTimes raw = detail::callOnce(target, quantity, activity);
  const auto after = threadIds();
  if (quantity == Quantity::profile) dev::profilerStop();
  report.wrapperNs = std::chrono::duration<double, std::nano>(raw.t1 - raw.t0).count();
  report.threadsBefore = before.size(), report.threadsAfter = after.size();
  report.newThreads = newThreadNames(before, after);
  report.error = detail::firstOf(raw.launchError, raw.syncError, dev::takeError());
  if (quantity == Quantity::event && report.error.empty()) {
    const double ms = dev::eventMs();
    report.hasEvent = ms >= 0, report.eventNs = ms * 1e6;
  }
  if (!activity.on()) return report;
  try {
    report.window = activity.closeCall(raw.begin, raw.end);
    report.dropped = activity.dropped();
    report.hasWindow = true;
  } catch (const CommandError& e) {
    if (report.error.empty()) throw;  // after an error of the candidate the context may be unusable: the error says it all
  }
  return report;
}

inline JsonObject callJson(const CallReport& r, Quantity quantity) {
  JsonObject o;
  o.number("wrapperNs", r.wrapperNs);
  const bool span = detail::wantsSpan(quantity) && r.hasWindow && r.window.hasSpan();
  if (span) o.integer("spanNs", int64_t(r.window.last() - r.window.first()));
  else o.null("spanNs");
  if (r.hasEvent) o.number("eventNs", r.eventNs);
  else o.null("eventNs");
  o.integer("late", r.window.late).integer("stragglers", r.window.stragglers).integer("invalid", r.window.invalid).integer("dropped", r.dropped).integer("early", r.window.early).integer("unjoined", r.window.unjoined);
  if (detail::wantsSpan(quantity)) o.raw("acts", activitiesJson(r.window, demangle));
  o.raw("threads", "[" + std::to_string(r.threadsBefore) + "," + std::to_string(r.threadsAfter) + "]");
  JsonArray names;
  for (const std::string& n : r.newThreads) names.add(jsonString(n));
  o.raw("newThreads", names.str());
  if (r.error.empty()) o.null("cuda");
  else o.text("cuda", r.error);
  return o;
}

}  // namespace cm
