// Comparing outputs with the task's reference: limits, ulp, patterns of wrong elements (PROTOCOL.md, "Judge commands").
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string>
#include <unordered_map>
#include <vector>

#include "json.h"
#include "reference_api.h"

namespace cm {

/** Ratios are capped: a limit of zero missed by any amount must stay a number that JSON can carry. */
constexpr double kMaxRatio = 1e30;

/**
 * Smallest normal number of fp32 and of bf16, 2^-126. Below it results are rounded to a fixed step or, with flush to zero, lost: no
 * relative limit can be kept there (a power of a small number), and no limit is tighter than this.
 */
constexpr double kUnderflow = 0x1p-126;

struct Wrong {
  int64_t index;
  double got, want, limit;
};

/** Element-wise rule of one output. */
struct Rule {
  LimitSpec limit;
  Storage elem = Storage::f32;
  bool signedZeros = false;

  bool exact() const { return limit.uOut == 0; }
  double allowed(const Ref& r) const {
    if (exact()) return 0.0;
    return limit.uOut * std::fabs(r.value) + limit.c * limit.uAcc * std::sqrt(r.n) * r.scale + kUnderflow;
  }
};

/** Distance between neighbouring values of the stored type at |value|; one for integers. */
inline double ulpAt(Storage s, double value) {
  if (s == Storage::i32) return 1.0;
  const int mantissa = s == Storage::f32 ? 23 : 7;
  const int field = int((bitsOfDouble(value) >> 52) & 0x7ff);
  const int exponent = std::min(std::max(field - 1023, -126), 127);
  return doubleOfBits(uint64_t(exponent - mantissa + 1023) << 52);
}

/** Gaps between neighbouring wrong indices, counted; the number of distinct gaps kept is bounded. */
class Gaps {
 public:
  void add(int64_t gap, int64_t times = 1) {
    total_ += times;
    const auto found = counts_.find(gap);
    if (found != counts_.end()) found->second += times;
    else if (counts_.size() < 1024) counts_[gap] = times;
  }
  void merge(const Gaps& o) {
    for (const auto& g : o.counts_) add(g.first, g.second);
    total_ += o.total_ - o.kept();
  }
  /** The commonest gap if it makes up at least half of all; else 0. */
  int64_t commonest() const {
    int64_t gap = 0, times = 0;
    for (const auto& g : counts_)
      if (g.second > times || (g.second == times && g.first < gap)) gap = g.first, times = g.second;
    return times * 2 >= total_ ? gap : 0;
  }

 private:
  int64_t kept() const {
    int64_t n = 0;
    for (const auto& g : counts_) n += g.second;
    return n;
  }
  std::unordered_map<int64_t, int64_t> counts_;
  int64_t total_ = 0;
};

/** What a range of elements showed; ranges merge in order of their indices. */
struct Findings {
  int64_t compared = 0, bad = 0, nonFinite = 0, poisonLeft = 0, finite = 0;
  double worst = 0, ratioSquares = 0, maxUlp = 0, ulpSquares = 0;
  bool anyNonZero = false;
  int64_t firstBad = -1, lastBad = -1;
  Gaps gaps;
  std::vector<Wrong> first;

  void noteBad(int64_t index, double got, double want, double limit) {
    bad++;
    if (lastBad >= 0) gaps.add(index - lastBad);
    else firstBad = index;
    lastBad = index;
    if (first.size() < 8) first.push_back({index, got, want, limit});
  }

  void merge(const Findings& o) {
    compared += o.compared, bad += o.bad, nonFinite += o.nonFinite, poisonLeft += o.poisonLeft, finite += o.finite;
    worst = std::max(worst, o.worst), maxUlp = std::max(maxUlp, o.maxUlp);
    ratioSquares += o.ratioSquares, ulpSquares += o.ulpSquares;
    anyNonZero = anyNonZero || o.anyNonZero;
    if (o.bad == 0) return;
    if (lastBad >= 0) gaps.add(o.firstBad - lastBad);
    else firstBad = o.firstBad;
    gaps.merge(o.gaps);
    lastBad = o.lastBad;
    for (const Wrong& w : o.first)
      if (first.size() < 8) first.push_back(w);
  }
};

namespace detail {

inline bool sameClass(double a, double b) {
  if (std::isnan(a) || std::isnan(b)) return std::isnan(a) && std::isnan(b);
  return a == b;  // infinities of one sign
}

/** |y - r| in units of what is allowed; exact outputs count in ulp, and any difference of bits is at least 1. */
inline double ratioOf(const Rule& rule, double y, const Ref& r, double want, double allowed) {
  if (!rule.exact()) {
    const double diff = std::fabs(y - r.value);
    if (diff == 0) return 0;
    return allowed > 0 ? std::min(diff / allowed, kMaxRatio) : kMaxRatio;
  }
  const bool signDiffers = rule.signedZeros && y == 0 && want == 0 && std::signbit(y) != std::signbit(want);
  if (y == want && !signDiffers) return 0;
  return std::min(std::max(std::fabs(y - want) / ulpAt(rule.elem, want), 1.0), kMaxRatio);
}

}  // namespace detail

/** Compares one stored element with its reference. Written so that NaN fails. */
inline void compareOne(const Rule& rule, int64_t index, uint32_t raw, const Ref& r, Findings& f) {
  const double y = decode(rule.elem, raw);
  const double want = decode(rule.elem, encode(rule.elem, r.value));
  const double allowed = rule.allowed(r);
  const uint32_t poison = rule.elem == Storage::bf16 ? 0xffffu : 0xffffffffu;
  f.compared++;
  if (!(y == 0)) f.anyNonZero = true;
  if (raw == poison && !std::isnan(r.value) && !(want == y)) f.poisonLeft++;
  if (!std::isfinite(y) || !std::isfinite(r.value)) {
    // A reference beyond the type's range rounds to infinity: then infinity is the right answer.
    const bool same = detail::sameClass(y, std::isfinite(r.value) ? want : r.value);
    if (!std::isfinite(y) && std::isfinite(r.value) && !same) f.nonFinite++;
    if (!same) f.noteBad(index, y, r.value, allowed);
    return;
  }
  const double ratio = detail::ratioOf(rule, y, r, want, allowed);
  const double ulps = std::fabs(y - r.value) / ulpAt(rule.elem, r.value);
  f.finite++;
  f.worst = std::max(f.worst, ratio), f.ratioSquares += ratio * ratio;
  f.maxUlp = std::max(f.maxUlp, ulps), f.ulpSquares += ulps * ulps;
  const bool good = rule.exact() ? ratio == 0 : ratio <= 1;
  if (!good) f.noteBad(index, y, r.value, allowed);
}

inline double rmsOf(double squares, int64_t n) { return n > 0 ? std::sqrt(squares / double(n)) : std::nan(""); }

/** A limit as JSON must be a number: the limit at a reference that is infinite or NaN has none. */
inline double printableLimit(double limit) { return limit <= kMaxRatio ? limit : kMaxRatio; }

inline std::string wrongJson(const std::vector<Wrong>& list) {
  JsonArray out;
  for (const Wrong& w : list)
    out.add(JsonObject().integer("index", w.index).raw("got", jsonValue(w.got)).raw("want", jsonValue(w.want)).number("limit", printableLimit(w.limit)).str());
  return out.str();
}

/** A `Comparison` of main/contract/session.ts. */
inline std::string comparisonJson(const std::string& output, const Findings& f, const Rule& rule) {
  JsonObject o;
  o.text("output", output).integer("compared", f.compared).integer("bad", f.bad).integer("nonFinite", f.nonFinite);
  const bool any = f.finite > 0;
  o.number("worst", any ? f.worst : std::nan("")).number("rms", rmsOf(f.ratioSquares, f.finite)).number("rmsLimit", rule.limit.rms);
  o.number("maxUlp", any ? f.maxUlp : std::nan("")).number("rmsUlp", rmsOf(f.ulpSquares, f.finite));
  o.boolean("allZero", f.compared > 0 && !f.anyNonZero).integer("poisonLeft", f.poisonLeft).raw("first", wrongJson(f.first));
  if (f.bad > 0) o.integer("lastBad", f.lastBad).integer("stride", f.gaps.commonest());
  else o.null("lastBad").null("stride");
  return o.str();
}

}  // namespace cm
