// Stand-alone test of one version of a kernel: makes the same inputs as CUDAMaster's judge (harness/generators.h), compares every output
// with the reference in double (reference.h) within the task's limits, and times both versions by events.
//
//   ./test [--sizes verify|published|all] [--seeds N] [--no-timing] [--self-test]
//
// Exit code 0: every comparison passed. 1: a result is wrong, or a call failed. 2: it could not run (no GPU, not enough memory, usage).
// The times are an indication only (warm caches, launch overhead included); the measured figures are in report.md.
#include <dlfcn.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <type_traits>

#include "compare.h"
#include "device.h"
#include "problems.h"
#include "reference.h"

union CallArg {
  void* p;
  int i;
  long l;
  float f;
  unsigned short h;
};
extern "C" const char cm_shim_signature[];
extern "C" void cm_shim_call(void* wrapper, const CallArg* arguments);

namespace {

using cm::usage;

constexpr size_t kGuard = 64 << 10;  // bytes on each side of a buffer that must not change
constexpr int kGuardByte = 0xA5;
constexpr int kPoison = 0xFF;  // NaN in float and bf16, -1 in int
constexpr int64_t kChunk = 1 << 14;
constexpr int64_t kSampled = 1 << 16;  // elements of an output compared where not all are
constexpr size_t kPiece = size_t(16) << 20;  // bytes copied back at once

struct Options {
  bool verify = true, published = true, timing = true, selfTest = false;
  int seeds = 3;
};

template <class R, class = void>
struct HasAll : std::false_type {};
template <class R>
struct HasAll<R, std::void_t<decltype(std::declval<const R&>().all(0, int64_t(0), int64_t(0), static_cast<cm::Ref*>(nullptr)))>> : std::true_type {};

template <class R, class = void>
struct SignedZeros : std::false_type {};
template <class R>
struct SignedZeros<R, std::void_t<decltype(R::signedZeros)>> : std::bool_constant<R::signedZeros> {};

template <class R>
void evaluate(const R& ref, int output, int64_t first, int64_t count, cm::Ref* out) {
  if constexpr (HasAll<R>::value) ref.all(output, first, count, out);
  else
    for (int64_t i = 0; i < count; i++) out[i] = ref.at(output, first + i);
}

/** One version: a library beside this program. */
struct Version {
  const char* name = nullptr;
  void* wrapper = nullptr;
  const char* (*lastError)() = nullptr;
};

Version load(const char* name, const char* file, const char* symbol) {
  char self[4096];
  const ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
  if (n < 0) throw cm::CommandError("load", "where this program lies is unknown");
  const std::string path = std::string(self, size_t(n));
  const std::string library = path.substr(0, path.rfind('/') + 1) + file;
  void* lib = dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!lib) throw cm::CommandError("load", dlerror());
  Version v;
  v.name = name;
  v.wrapper = dlsym(lib, symbol);
  v.lastError = reinterpret_cast<const char* (*)()>(dlsym(lib, "cm_last_error"));
  if (!v.wrapper || !v.lastError) throw cm::CommandError("load", library + " does not export " + symbol);
  return v;
}

/** Host content of a buffer, and its device memory between two guard zones. */
class Buffer {
 public:
  Buffer(const cm::BufferSpec& spec, bool onDevice) : spec_(spec), content_(spec.generated() ? spec.bytes() : 0) {
    if (!onDevice) return;
    base_ = static_cast<char*>(dev::allocate(spec.bytes() + 2 * kGuard));
    if (spec.role == cm::Role::inout) saved_ = dev::allocate(spec.bytes() + 1);
  }
  ~Buffer() {
    if (base_) dev::release(base_);
    if (saved_) dev::release(saved_);
  }
  Buffer(const Buffer&) = delete;

  const cm::BufferSpec& spec() const { return spec_; }
  void* data() const { return base_ ? base_ + kGuard : nullptr; }
  const void* content() const { return content_.data(); }

  /** New content: inputs from their generator, outputs poisoned. */
  void prepare(uint64_t seed) {
    dev::fill(base_, kGuardByte, spec_.bytes() + 2 * kGuard);
    if (!spec_.generated()) {
      dev::fill(data(), kPoison, spec_.bytes());
      return;
    }
    generate(seed);
    dev::toDevice(data(), content_.data(), spec_.bytes());
    if (saved_) dev::copy(saved_, data(), spec_.bytes());
  }
  void generate(uint64_t seed) {
    const cm::View view(spec_, seed);
    cm::parallelFor(spec_.count, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) cm::storeRaw(spec_.elem, content_.data(), i, view.raw(i));
    });
  }
  /** An inout buffer as it was before the call. */
  void restore() {
    if (saved_) dev::copy(data(), saved_, spec_.bytes());
  }
  /** What a call left; empty: nothing that it should not have touched changed. Keeps the content of an output in `result`. */
  std::string check(std::vector<uint8_t>& result) const {
    if (spec_.output()) {
      result.resize(spec_.bytes());
      dev::toHost(result.data(), data(), spec_.bytes());
    }
    std::vector<uint8_t> guard(kGuard);
    for (const size_t at : {size_t(0), kGuard + spec_.bytes()}) {
      dev::toHost(guard.data(), base_ + at, kGuard);
      for (const uint8_t byte : guard)
        if (byte != kGuardByte) return "wrote outside of " + spec_.name;
    }
    if (spec_.output()) return "";
    std::vector<uint8_t> piece(std::min(kPiece, spec_.bytes()));
    for (size_t at = 0; at < spec_.bytes(); at += piece.size()) {
      const size_t n = std::min(piece.size(), spec_.bytes() - at);
      dev::toHost(piece.data(), static_cast<char*>(data()) + at, n);
      if (std::memcmp(piece.data(), content_.data() + at, n) != 0) return "changed its input " + spec_.name;
    }
    return "";
  }

 private:
  cm::BufferSpec spec_;
  std::vector<uint8_t> content_;
  char* base_ = nullptr;
  void* saved_ = nullptr;
};

/** One size with its buffers. */
struct Case {
  explicit Case(const Entry& entry, bool onDevice) : entry(entry), spec(cm::parseProblem(lines(entry.text))) {
    std::string types;
    for (const cm::ArgSpec& a : spec.args) types += a.type;
    if (types != cm_shim_signature) usage("the arguments of " + std::string(entry.id) + " do not fit the wrapper");
    size_t bytes = 0;
    for (const cm::BufferSpec& b : spec.buffers) bytes += b.bytes() * (b.role == cm::Role::inout ? 2 : 1) + 2 * kGuard;
    if (onDevice && bytes > dev::freeBytes()) throw cm::CommandError("memory", std::string(entry.id) + " needs " + std::to_string(bytes >> 20) + " MiB of GPU memory");
    for (const cm::BufferSpec& b : spec.buffers) buffers.push_back(std::make_unique<Buffer>(b, onDevice));
    for (const cm::ArgSpec& a : spec.args) args.push_back(argument(a));
  }

  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> out;
    for (size_t at = 0; at < text.size();) {
      const size_t end = std::min(text.find('\n', at), text.size());
      out.push_back(text.substr(at, end - at));
      at = end + 1;
    }
    return out;
  }

  CallArg argument(const cm::ArgSpec& a) const {
    CallArg v{};
    if (a.type == 'p') v.p = buffers[size_t(a.buffer)]->data();
    else if (a.type == 'i') v.i = int(a.integer);
    else if (a.type == 'l') v.l = long(a.integer);
    else if (a.type == 'f') v.f = float(cm::decode(cm::Storage::f32, cm::encode(cm::Storage::f32, a.real)));
    else v.h = uint16_t(cm::encode(cm::Storage::bf16, a.real));
    return v;
  }

  cm::Rule ruleOf(int buffer) const {
    for (const cm::LimitSpec& l : spec.limits)
      if (l.buffer == buffer) return cm::Rule{l, spec.buffers[size_t(buffer)].elem, SignedZeros<task::Reference>::value};
    usage("no limit for " + spec.buffers[size_t(buffer)].name);
  }

  /** Throws CommandError("call") when the call itself failed. */
  void call(const Version& v) const {
    cm_shim_call(v.wrapper, args.data());
    const char* launch = v.lastError();
    if (launch) throw cm::CommandError("call", std::string("launch failed: ") + launch);
    dev::sync("the call");
    const char* after = v.lastError();
    if (after) throw cm::CommandError("call", after);
  }

  const Entry& entry;
  cm::ProblemSpec spec;
  std::vector<std::unique_ptr<Buffer>> buffers;
  std::vector<CallArg> args;
};

using Bytes = std::vector<uint8_t>;

/**
 * Compares what each version left in an output (number `output`) with the reference, which is evaluated once for all of them.
 * `sampled`: at random positions of a large output, with repetition.
 */
std::vector<cm::Findings> compare(const cm::Rule& rule, const task::Reference& ref, int output, int64_t count, const std::vector<const Bytes*>& left, bool sampled) {
  const bool some = sampled && count > kSampled;
  const int64_t total = some ? kSampled : count;
  const int64_t grain = some ? 64 : kChunk;
  std::vector<std::vector<cm::Findings>> parts(size_t((total + grain - 1) / grain), std::vector<cm::Findings>(left.size()));
  cm::parallelChunks(total, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
    std::vector<cm::Ref> refs(size_t(end - begin));
    std::vector<int64_t> at(size_t(end - begin));
    for (int64_t i = begin; i < end; i++) at[size_t(i - begin)] = some ? int64_t(cm::mix64(uint64_t(i) + 1) % uint64_t(count)) : i;
    if (some)
      for (size_t k = 0; k < at.size(); k++) refs[k] = ref.at(output, at[k]);
    else evaluate(ref, output, begin, end - begin, refs.data());
    for (size_t v = 0; v < left.size(); v++)
      for (size_t k = 0; k < at.size(); k++)
        cm::compareOne(rule, at[k], cm::loadRaw(rule.elem, left[v]->data(), at[k]), refs[k], parts[size_t(chunk)][v]);
  });
  std::vector<cm::Findings> sums(left.size());
  for (const auto& part : parts)
    for (size_t v = 0; v < left.size(); v++) sums[v].merge(part[v]);
  return sums;
}

bool good(const cm::Findings& f, const cm::Rule& rule) {
  const double rms = cm::rmsOf(f.ratioSquares, f.finite);
  return f.bad == 0 && (f.finite == 0 || rms <= rule.limit.rms);
}

void explain(const std::string& output, const cm::Findings& f, const cm::Rule& rule) {
  std::printf("      %s: %lld of %lld elements wrong, RMS of error over limit %.3g (at most %.3g)\n", output.c_str(), (long long)f.bad,
              (long long)f.compared, cm::rmsOf(f.ratioSquares, f.finite), rule.limit.rms);
  for (const cm::Wrong& w : f.first)
    std::printf("      %s[%lld] = %.9g, expected %.9g, allowed error %.3g\n", output.c_str(), (long long)w.index, w.got, w.want, w.limit);
}

uint64_t seedOf(int number) { return cm::mix64(kSeedRoot + uint64_t(number)); }

struct Tally {
  int passed = 0, failed = 0;
};

void line(bool pass, const char* version, const Case& c, int seed, const std::string& what) {
  std::printf("%s  %-9s  %-22s  %s  seed %d  %s\n", pass ? "PASS" : "FAIL", version, c.entry.id, c.entry.size, seed, what.c_str());
}

/** What one version did with one content. */
struct Call {
  std::string fault;
  std::vector<Bytes> left;  // by buffer; empty: an input
  double worst = 0, ulp = 0;
  std::vector<std::pair<std::string, std::pair<cm::Findings, cm::Rule>>> wrong;
};

/** A failed call is told with its place: what follows it in a broken context says nothing. */
void callAt(const Case& c, const Version& v) {
  try {
    c.call(v);
  } catch (const cm::CommandError& e) {
    throw cm::CommandError(e.code, std::string(v.name) + " at " + c.entry.id + ", " + c.entry.size + ": " + e.what());
  }
}

Call callOnce(Case& c, const Version& v, int seed) {
  for (auto& b : c.buffers) b->prepare(seedOf(seed));
  dev::sync("preparing the inputs");
  callAt(c, v);
  Call done;
  done.left.resize(c.buffers.size());
  for (size_t b = 0; b < c.buffers.size(); b++) {
    const std::string found = c.buffers[b]->check(done.left[b]);
    if (done.fault.empty()) done.fault = found;
  }
  return done;
}

/** Judges the outputs of all versions against one reference. */
void judge(const Case& c, const task::Reference& ref, std::vector<Call>& calls, bool sampled) {
  int output = 0;
  for (size_t b = 0; b < c.buffers.size(); b++) {
    const cm::BufferSpec& s = c.spec.buffers[b];
    if (!s.output()) continue;
    const cm::Rule rule = c.ruleOf(int(b));
    std::vector<const Bytes*> left;
    for (const Call& call : calls) left.push_back(&call.left[b]);
    const std::vector<cm::Findings> found = compare(rule, ref, output++, s.count, left, sampled);
    for (size_t v = 0; v < calls.size(); v++) {
      calls[v].worst = std::max(calls[v].worst, found[v].worst), calls[v].ulp = std::max(calls[v].ulp, found[v].maxUlp);
      if (!good(found[v], rule)) calls[v].wrong.push_back({s.name, {found[v], rule}});
    }
  }
}

/** Every seed of one size; of a published size one content is compared whole, the others at random positions. */
void verifyCase(const Entry& entry, const std::vector<Version>& versions, int seeds, Tally& tally) {
  Case c(entry, true);
  for (int s = 0; s < seeds; s++) {
    std::vector<Call> calls;
    for (const Version& v : versions) calls.push_back(callOnce(c, v, s));
    const cm::Problem problem(c.spec, seedOf(s));
    const task::Reference ref(problem);
    judge(c, ref, calls, !entry.verify && s > 0);
    for (size_t v = 0; v < versions.size(); v++) {
      const Call& call = calls[v];
      char text[96];
      std::snprintf(text, sizeof text, "worst %.3g of the limit, %.3g ulp", call.worst, call.ulp);
      line(call.wrong.empty(), versions[v].name, c, s, text);
      for (const auto& w : call.wrong) explain(w.first, w.second.first, w.second.second);
      if (!call.fault.empty()) line(false, versions[v].name, c, s, call.fault);
      (call.wrong.empty() && call.fault.empty() ? tally.passed : tally.failed)++;
    }
  }
}

double median(std::vector<double> v) {
  std::sort(v.begin(), v.end());
  return v.empty() ? 0 : (v[(v.size() - 1) / 2] + v[v.size() / 2]) / 2;
}

double timedCall(const Case& c, const Version& v, dev::Stopwatch& watch) {
  for (auto& b : c.buffers) b->restore();
  dev::sync("restoring the inputs");
  watch.start();
  cm_shim_call(v.wrapper, c.args.data());
  return watch.stop();
}

/** Medians of calls in turn, after three warm-ups; at most about a second and 50 calls each. */
void timeCase(const Entry& entry, const std::vector<Version>& versions) {
  Case c(entry, true);
  for (auto& b : c.buffers) b->prepare(seedOf(0));
  dev::Stopwatch watch;
  double slowest = 1;
  for (const Version& v : versions)
    for (int i = 0; i < 3; i++) slowest = std::max(slowest, timedCall(c, v, watch));
  const int calls = std::min(50, std::max(5, int(1e6 / slowest)));
  std::vector<std::vector<double>> times(versions.size());
  for (int i = 0; i < calls; i++)
    for (size_t k = 0; k < versions.size(); k++) {
      const size_t which = i % 2 ? versions.size() - 1 - k : k;
      times[which].push_back(timedCall(c, versions[which], watch));
    }
  std::printf("TIME  %-22s  %s", entry.id, entry.size);
  for (size_t k = 0; k < versions.size(); k++) std::printf("  %s %.2f us", versions[k].name, median(times[k]));
  if (versions.size() == 2) std::printf("  ratio %.3f", median(times[0]) / median(times[1]));
  std::printf("  (median of %d)\n", calls);
}

/** Host only: the rounded reference passes, one changed element fails. Proves the comparison, not a kernel. */
int selfTest() {
  int checks = 0, failed = 0;
  for (const Entry& entry : kProblems) {
    if (!entry.verify) continue;
    Case c(entry, false);
    const cm::Problem problem(c.spec, seedOf(0));
    const task::Reference ref(problem);
    int output = 0;
    for (size_t b = 0; b < c.buffers.size(); b++) {
      const cm::BufferSpec& s = c.buffers[b]->spec();
      if (!s.output() || s.count == 0) continue;
      const cm::Rule rule = c.ruleOf(int(b));
      std::vector<uint8_t> raw(s.bytes());
      std::vector<cm::Ref> refs(static_cast<size_t>(s.count));
      evaluate(ref, output, 0, s.count, refs.data());
      for (int64_t i = 0; i < s.count; i++) cm::storeRaw(s.elem, raw.data(), i, cm::encode(s.elem, refs[size_t(i)].value));
      const bool accepts = good(compare(rule, ref, output, s.count, {&raw}, false)[0], rule);
      const int64_t at = s.count / 2;
      const double value = cm::decode(s.elem, cm::loadRaw(s.elem, raw.data(), at));
      const bool finite = std::isfinite(value);
      cm::storeRaw(s.elem, raw.data(), at, s.elem == cm::Storage::i32 ? uint32_t(int32_t(value) + 1) : finite ? 0x7fc07fc0u : 0u);
      const bool refuses = !good(compare(rule, ref, output, s.count, {&raw}, false)[0], rule);
      output++;
      checks++;
      if (accepts && refuses) continue;
      failed++;
      std::printf("FAIL  self-test  %s  %s  %s: %s\n", entry.id, entry.size, s.name.c_str(), accepts ? "a wrong element passed" : "the reference itself failed");
    }
  }
  std::printf("%s  self-test: %d outputs, %d failed\n", failed || !checks ? "FAIL" : "PASS", checks, failed);
  return failed || !checks ? 1 : 0;
}

Options parse(int argc, char** argv) {
  Options o;
  for (int i = 1; i < argc; i++) {
    const std::string a = argv[i];
    const std::string value = i + 1 < argc ? argv[i + 1] : "";
    if (a == "--no-timing") o.timing = false;
    else if (a == "--self-test") o.selfTest = true;
    else if (a == "--sizes" && (value == "verify" || value == "published" || value == "all")) o.verify = value != "published", o.published = value != "verify", i++;
    else if (a == "--seeds" && cm::parseInt(value) >= 1 && cm::parseInt(value) <= 100) o.seeds = int(cm::parseInt(value)), i++;
    else usage("usage: ./test [--sizes verify|published|all] [--seeds 1..100] [--no-timing] [--self-test]");
  }
  return o;
}

int run(const Options& o) {
  if (o.selfTest) return selfTest();
  std::printf("%s %s on %s\n", kTask, kDtype, dev::open().c_str());
  std::vector<Version> versions{load("origin", "origin.so", kOriginSymbol)};
  if (kOptimizedSymbol) versions.push_back(load("optimized", "optimized.so", kOptimizedSymbol));
  Tally tally;
  for (const Entry& entry : kProblems)
    if (entry.verify ? o.verify : o.published) {
      verifyCase(entry, versions, entry.verify ? o.seeds : std::min(o.seeds, 2), tally);
      std::fflush(stdout);
    }
  if (o.timing && tally.failed == 0) {
    std::printf("\nTimes by events, warm caches, launch overhead included: an indication only. Measured figures: report.md.\n");
    for (const Entry& entry : kProblems)
      if (!entry.verify && o.published) timeCase(entry, versions), std::fflush(stdout);
  }
  std::printf("\n%s  %d comparisons passed, %d failed\n", tally.failed ? "FAIL" : "PASS", tally.passed, tally.failed);
  return tally.failed ? 1 : 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    const int code = run(parse(argc, argv));
    std::fflush(stdout);
    _exit(code);  // the reference's threads never end
  } catch (const cm::CommandError& e) {
    std::fflush(stdout);
    const bool fault = e.code == "call" || e.code == "cuda";
    std::fprintf(stderr, "%s: %s\n", fault ? "FAIL" : "cannot run", e.what());
    if (e.code == "gpu") std::fprintf(stderr, "Run it on a machine with an NVIDIA GPU and its driver; ./test --self-test checks the comparison without one.\n");
    _exit(fault ? 1 : 2);
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "cannot run: not enough host memory\n");
    _exit(2);
  }
}
