// GPU part of `selftest`: launch errors, activity records, spans, late work, L2 eviction.
#pragma once

#include <cstdio>

#include "calls.h"

namespace cm_harness {

/** Busy for at least `ns` by the GPU's own nanosecond counter. */
__global__ void selftestSpinKernel(long long ns) {
  long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do {
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (now - begin < ns);
}

__global__ void selftestReadKernel(const float4* data, int64_t count, float* sink) {
  float sum = 0;
  for (int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x; i < count; i += int64_t(gridDim.x) * blockDim.x) {
    const float4 v = data[i];
    sum += v.x + v.y + v.z + v.w;
  }
  if (sum == 1.2345e-30f) *sink = sum;
}

}  // namespace cm_harness

namespace cm {

namespace detail {

/** Streams and memory of the self-test's own "candidate": not the harness's stream, so its work counts as foreign. */
class Foreign {
 public:
  Foreign() : memory_(8u << 20) {
    dev::check(cudaStreamCreateWithFlags(&side_, cudaStreamNonBlocking), "stream");
    dev::check(cudaMemset(memory_.data(), 0, memory_.bytes()), "memset");
    dev::sync();
  }
  ~Foreign() { cudaStreamDestroy(side_); }
  cudaStream_t side() const { return side_; }
  void* data() const { return memory_.data(); }
  size_t bytes() const { return memory_.bytes(); }
  void spin(int64_t ns, cudaStream_t s) const { cm_harness::selftestSpinKernel<<<1, 1, 0, s>>>(ns); }

 private:
  DeviceMemory memory_;
  cudaStream_t side_ = nullptr;
};

/** As `prepare` and `call` do it. */
template <class Work>
Window windowOf(Activity& a, const Work& work) {
  a.mark();
  dev::sync();
  a.settle();
  a.drain();
  const uint64_t begin = a.now();
  work();
  dev::check(cudaGetLastError(), "self-test work");
  dev::sync();
  return a.closeCall(begin, a.now());
}

inline std::string describeWindow(const Window& w) {
  int kinds[3] = {0, 0, 0};
  for (const Record& r : w.records) kinds[int(r.kind)]++;
  char text[200];
  const long long span = w.hasSpan() ? (long long)(w.last() - w.first()) : -1;
  const long long lead = w.hasSpan() ? (long long)w.first() - (long long)w.begin : 0;
  const long long tail = w.hasSpan() ? (long long)w.end - (long long)w.last() : 0;
  std::snprintf(text, sizeof text, "kernels %d copies %d sets %d, span %lld ns, first %lld ns after begin, last %lld ns before end, late %lld stragglers %lld",
                kinds[0], kinds[1], kinds[2], span, lead, tail, (long long)w.late, (long long)w.stragglers);
  return text;
}

inline int countKind(const Window& w, Record::Kind k) {
  int n = 0;
  for (const Record& r : w.records) n += r.kind == k;
  return n;
}

inline std::pair<bool, std::string> launchErrorIsSeen() {
  cm_harness::selftestSpinKernel<<<1, 4096>>>(1);
  const std::string seen = dev::takeError();
  const std::string after = detail::firstOf(dev::syncError(), dev::takeError(), "");
  return {seen.find("cudaErrorInvalid") == 0 && after.empty(), seen + " / afterwards: " + (after.empty() ? "none" : after)};
}

inline std::pair<bool, std::string> plainWorkIsRecorded(Activity& a, const Foreign& f) {
  const Window w = windowOf(a, [&] {
    f.spin(200'000, nullptr);
    cudaMemsetAsync(f.data(), 1, 1 << 20, nullptr);
    cudaMemcpyAsync(f.data(), static_cast<char*>(f.data()) + (4 << 20), 1 << 20, cudaMemcpyDeviceToDevice, nullptr);
  });
  const uint64_t span = w.hasSpan() ? w.last() - w.first() : 0;
  const bool ok = w.records.size() == 3 && countKind(w, Record::Kind::kernel) == 1 && countKind(w, Record::Kind::memcpy) == 1 &&
                  countKind(w, Record::Kind::memset) == 1 && span >= 195'000 && span < 2'000'000 && w.late == 0 && w.stragglers == 0;
  return {ok, describeWindow(w)};
}

inline std::pair<bool, std::string> sideStreamIsInTheSpan(Activity& a, const Foreign& f) {
  const Window w = windowOf(a, [&] {
    f.spin(50'000, nullptr);
    f.spin(300'000, f.side());
  });
  return {countKind(w, Record::Kind::kernel) == 2 && w.hasSpan() && w.last() - w.first() >= 295'000, describeWindow(w)};
}

inline std::pair<bool, std::string> graphNodesAreRecorded(Activity& a, const Foreign& f) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t exec = nullptr;
  dev::check(cudaStreamBeginCapture(f.side(), cudaStreamCaptureModeThreadLocal), "capture");
  f.spin(20'000, f.side());
  dev::check(cudaMemsetAsync(f.data(), 2, 1 << 20, f.side()), "memset node");
  f.spin(30'000, f.side());
  dev::check(cudaStreamEndCapture(f.side(), &graph), "capture");
  dev::check(cudaGraphInstantiate(&exec, graph, 0), "cudaGraphInstantiate");
  const Window w = windowOf(a, [&] { cudaGraphLaunch(exec, f.side()); });
  const Window again = windowOf(a, [&] { cudaGraphLaunch(exec, f.side()); });
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  auto good = [](const Window& v) { return countKind(v, Record::Kind::kernel) == 2 && countKind(v, Record::Kind::memset) == 1 && v.hasSpan() && v.last() - v.first() >= 45'000; };
  return {good(w) && good(again), describeWindow(w) + " / again: " + describeWindow(again)};
}

inline std::pair<bool, std::string> emptyCallHasNoSpan(Activity& a) {
  const Window w = windowOf(a, [] {});
  return {w.records.empty() && !w.hasSpan() && w.late == 0, describeWindow(w)};
}

inline std::pair<bool, std::string> lateWorkIsReported(Activity& a, const Foreign& f) {
  windowOf(a, [&] { f.spin(10'000, nullptr); });
  f.spin(10'000, f.side());  // after the call has returned and was synchronised
  dev::sync();
  const Window w = windowOf(a, [&] { f.spin(10'000, nullptr); });
  return {w.late == 1 && w.records.size() == 1, describeWindow(w)};
}

inline std::pair<bool, std::string> manyKernelsAreAllRecorded(Activity& a, const Foreign& f) {
  const Window w = windowOf(a, [&] {
    for (int i = 0; i < 5000; i++) f.spin(0, nullptr);
  });
  const int64_t lost = a.dropped();
  return {w.records.size() == 5000 && lost == 0, describeWindow(w) + ", dropped " + std::to_string(lost)};
}

/** A buffer that fits L2 is read right after itself, and after each way of evicting. */
inline std::pair<bool, std::string> evictionWorks(Activity& a, const Foreign& f) {
  const DeviceMemory sink(sizeof(float));
  auto read = [&] {
    cm_harness::selftestReadKernel<<<dev::state().sms * 4, 256>>>(static_cast<const float4*>(f.data()), int64_t(f.bytes() / 16), static_cast<float*>(sink.data()));
  };
  auto timed = [&](dev::FlushMode mode) {
    read();
    dev::resetL2(mode);
    const Window w = windowOf(a, read);
    return w.hasSpan() ? double(w.last() - w.first()) : -1.0;
  };
  double ns[3] = {1e30, 1e30, 1e30};
  for (int i = 0; i < 5; i++)
    for (const dev::FlushMode m : {dev::FlushMode::none, dev::FlushMode::read, dev::FlushMode::write}) ns[int(m)] = std::min(ns[int(m)], timed(m));
  char text[120];
  std::snprintf(text, sizeof text, "8 MiB read: warm %.0f ns, after read flush %.0f ns, after write flush %.0f ns", ns[0], ns[1], ns[2]);
  return {ns[0] > 0 && ns[1] > 1.1 * ns[0] && ns[2] > 1.1 * ns[0], text};
}

}  // namespace detail

inline JsonObject runSelftest(Activity& a) {
  using namespace detail;
  Checks checks;
  checks.run("generators: device equals host", generatorsAgree);
  checks.run("guards and changed inputs", damageIsFound);
  checks.run("launch error visible and cleared", launchErrorIsSeen);
  const Foreign f;
  f.spin(0, nullptr);  // loaded and run before recording starts: a late start must still see it
  dev::sync();
  checks.run("recording starts", [&]() -> std::pair<bool, std::string> {
    a.start();
    return {a.on(), "on"};
  });
  if (!a.on()) return checks.json();
  checks.run("kernel, set and copy recorded", [&] { return plainWorkIsRecorded(a, f); });
  checks.run("side stream inside the span", [&] { return sideStreamIsInTheSpan(a, f); });
  checks.run("graph recorded by node", [&] { return graphNodesAreRecorded(a, f); });
  checks.run("empty call has no span", [&] { return emptyCallHasNoSpan(a); });
  checks.run("late work reported", [&] { return lateWorkIsReported(a, f); });
  checks.run("5000 kernels, none lost", [&] { return manyKernelsAreAllRecorded(a, f); });
  checks.run("L2 eviction", [&] { return evictionWorks(a, f); });
  checks.run("off and on again", [&]() -> std::pair<bool, std::string> {
    a.stop();
    a.start();
    const Window w = windowOf(a, [&] { f.spin(1000, nullptr); });
    return {w.records.size() == 1, describeWindow(w)};
  });
  JsonObject o = checks.json();
  o.integer("step", int64_t(a.step()));
  return o;
}

}  // namespace cm
