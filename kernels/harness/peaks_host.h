// Host device: bandwidths of host memory by one thread and its rate of multiply-adds (see peaks.h).
#pragma once

#include <algorithm>
#include <chrono>
#include <cstring>
#include <vector>

#include "activity.h"
#include "json.h"

namespace cm {

namespace detail {

template <class Work>
double medianSeconds(int runs, const Work& work) {
  std::vector<double> t;
  for (int i = 0; i < runs; i++) {
    const auto a = std::chrono::steady_clock::now();
    work();
    t.push_back(std::chrono::duration<double>(std::chrono::steady_clock::now() - a).count());
  }
  std::sort(t.begin(), t.end());
  return std::max(t[t.size() / 2], 1e-9);
}

}  // namespace detail

inline std::string measurePeaks(Activity&) {
  const size_t n = 4u << 20;
  std::vector<uint64_t> a(n, 1), b(n, 2);
  volatile uint64_t sink = 0;
  volatile float out = 0;
  const double read = detail::medianSeconds(3, [&] {
    uint64_t s = 0;
    for (size_t i = 0; i < n; i++) s += a[i];
    sink = sink + s;
  });
  const double write = detail::medianSeconds(3, [&] { std::memset(a.data(), int(sink & 1), n * 8); });
  const double copy = detail::medianSeconds(3, [&] { std::memcpy(a.data(), b.data(), n * 8); });
  const int steps = 1 << 20;
  const double fma = detail::medianSeconds(3, [&] {
    float x[8] = {1, 2, 3, 4, 5, 6, 7, 8};
    for (int i = 0; i < steps; i++)
      for (float& v : x) v = v * 0.999f + 0.5f;
    for (const float v : x) out = out + v;
  });
  const double bytes = double(n) * 8;
  return JsonObject()
      .number("readBytesPerS", bytes / read)
      .number("writeBytesPerS", bytes / write)
      .number("copyBytesPerS", 2 * bytes / copy)
      .number("fp32FlopsPerS", 16.0 * steps / fma)
      .number("emptySpanNs", detail::medianSeconds(9, [] {}) * 1e9)
      .str();
}

}  // namespace cm
