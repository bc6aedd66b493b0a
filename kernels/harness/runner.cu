// runner SOCKET: holds the candidate and does what the broker asks (PROTOCOL.md, "Runner commands").
//
// GPU:  nvcc runner.cu          (shared CUDA runtime, so that a candidate's launch errors are seen here)
// Host: c++ -x c++ -DCM_HOST    (host memory, candidates are host libraries; for tests without a GPU)
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "activity.h"
#include "arms.h"
#include "buffers.h"
#include "calls.h"
#include "device.h"
#include "nvml.h"
#include "peaks.h"
#include "selftest.h"
#include "wire.h"

namespace cm {

class Runner {
 public:
  Handlers handlers() {
    return {
        {"hello", [this](const Request& r) { return hello(r); }},
        {"shim", [this](const Request& r) { return shim(r); }},
        {"load", [this](const Request& r) { return load(r); }},
        {"problem", [this](const Request& r) { return problem(r); }},
        {"pad", [this](const Request& r) { return pad(r); }},
        {"cupti", [this](const Request& r) { return cupti(r); }},
        {"prepare", [this](const Request& r) { return prepare(r); }},
        {"call", [this](const Request& r) { return call(r); }},
        {"gather", [this](const Request& r) { return gather(r); }},
        {"dump", [this](const Request& r) { return dump(r); }},
        {"check", [this](const Request& r) { return check(r); }},
        {"peaks", [this](const Request& r) { return peaks(r); }},
        {"burst", [this](const Request& r) { return burst(r); }},
        {"clocks", [this](const Request& r) { return clocks(r); }},
        {"selftest", [this](const Request& r) { return selftest(r); }},
    };
  }

  /** `runner --selftest`: GPU, self-test, peaks and clocks as one JSON object on stdout; exit code 0 only if all passed. */
  int selftestAlone() {
    const Request none{{""}, {"selftest", ""}, ""};
    try {
      JsonObject o = hello(none).json;
      o.raw("selftest", selftest(none).json.str()).joined(peaks(none).json).joined(clocks(none).json);
      std::printf("%s\n", o.str().c_str());
      return o.str().find("\"passed\":true") != std::string::npos ? 0 : 1;
    } catch (const CommandError& e) {
      std::printf("%s\n", JsonObject().text("error", e.code).text("message", e.what()).str().c_str());
      return 2;
    }
  }

 private:
  Reply hello(const Request& r) {
    r.expectArgs(0);
    dev::init();
    ready_ = true;
    Reply reply;
    reply.json.raw("gpu", dev::describe()).integer("pid", getpid());
    return reply;
  }

  Reply shim(const Request& r) {
    r.expectArgs(1);
    shim_.load(r.arg(0));
    return {};
  }

  Reply load(const Request& r) {
    r.expectArgs(3);
    needReady();
    arms_.load(r.arg(0), r.arg(1), r.arg(2));
    return {};
  }

  Reply problem(const Request& r) {
    needReady();
    args_.clear();
    buffers_.build(parseProblem(r.lines));
    args_ = makeArgs(buffers_);
    loaded_ = true;
    Reply reply;
    reply.json.integer("bytes", buffers_.totalBytes());
    return reply;
  }

  Reply pad(const Request& r) {
    r.expectArgs(1);
    needReady();
    const int64_t bytes = parseInt(r.arg(0));
    if (bytes < 0) usage("a size cannot be negative");
    if (bytes > 0) padding_.emplace_back(size_t(bytes));
    return {};
  }

  Reply cupti(const Request& r) {
    r.expectArgs(1);
    needReady();
    if (r.arg(0) == "on") activity_.start();
    else if (r.arg(0) == "off") activity_.stop();
    else usage("cupti on|off");
    Reply reply;
    reply.json.integer("step", int64_t(activity_.step()));
    return reply;
  }

  Reply prepare(const Request& r) {
    r.expectArgs(2);
    needProblem();
    const uint64_t seed = parseSeed(r.arg(0));
    const std::string& f = r.arg(1);
    if (f != "none" && f != "read" && f != "write") usage("unknown flush: " + f);
    const dev::FlushMode mode = f == "none" ? dev::FlushMode::none : f == "read" ? dev::FlushMode::read : dev::FlushMode::write;
    buffers_.fill(seed);
    dev::resetL2(mode);
    if (activity_.on()) activity_.mark();
    dev::sync();
    if (activity_.on()) {
      activity_.settle();
      activity_.drain();
    }
    return {};
  }

  CallTarget target(const std::string& arm) {
    needProblem();
    shim_.checkSignature(buffers_.spec());
    return CallTarget{shim_, arms_.wrapper(arm), args_.data()};
  }

  Reply call(const Request& r) {
    r.expectArgs(2);
    const CallTarget t = target(r.arg(0));
    const Quantity quantity = parseQuantity(r.arg(1));
    Reply reply;
    reply.json = callJson(callArm(t, quantity, activity_), quantity);
    return reply;
  }

  int bufferArg(const Request& r, size_t i) const {
    const int64_t b = parseInt(r.arg(i));
    if (b < 0 || b >= int64_t(buffers_.spec().buffers.size())) usage("no such buffer: " + r.arg(i));
    return int(b);
  }

  Reply gather(const Request& r) {
    r.expectArgs(1);
    needProblem();
    Reply reply;
    reply.blob = buffers_.gather(bufferArg(r, 0), r.blob);
    return reply;
  }

  Reply dump(const Request& r) {
    r.expectArgs(2);
    needProblem();
    Reply reply;
    reply.json.integer("bytes", buffers_.dump(bufferArg(r, 0), r.arg(1)));
    return reply;
  }

  Reply check(const Request& r) {
    r.expectArgs(1);
    needProblem();
    const uint64_t seed = parseSeed(r.arg(0));
    JsonArray guards, inputs;
    for (const GuardHit& g : buffers_.checkGuards(seed))
      guards.add(JsonObject().text("buf", buffers_.buffer(g.buffer).name).text("side", g.side).integer("offset", g.offset).str());
    for (const InputChange& c : buffers_.checkInputs(seed))
      inputs.add(JsonObject().text("buf", buffers_.buffer(c.buffer).name).integer("mismatches", c.mismatches).integer("first", c.first).str());
    Reply reply;
    reply.json.raw("guards", guards.str()).raw("inputs", inputs.str());
    return reply;
  }

  Reply peaks(const Request& r) {
    r.expectArgs(0);
    needReady();
    Reply reply;
    reply.json.raw("peaks", measurePeaks(activity_));
    return reply;
  }

  Reply burst(const Request& r) {
    r.expectArgs(3);
    const CallTarget t = target(r.arg(0));
    const int64_t warmups = parseInt(r.arg(1)), calls = parseInt(r.arg(2));
    if (warmups < 0 || calls < 1 || warmups + calls > 1000000) usage("burst ARM WARMUPS CALLS");
    for (int64_t i = 0; i < warmups; i++) t();
    std::string error = dev::syncError();
    dev::eventStart();
    for (int64_t i = 0; i < calls; i++) t();
    dev::eventStop();
    const std::string launch = dev::takeError(), sync = dev::syncError();
    error = detail::firstOf(error, launch, sync);
    const double ms = error.empty() ? dev::eventMs() : -1;
    Reply reply;
    if (ms >= 0) reply.json.number("totalMs", ms);
    else reply.json.null("totalMs");
    if (error.empty()) reply.json.null("cuda");
    else reply.json.text("cuda", error);
    return reply;
  }

  Reply clocks(const Request& r) {
    r.expectArgs(0);
    needReady();
    Reply reply;
#if defined(CM_HOST)
    reply.json.null("smMHz").null("memMHz").raw("foreign", "[]").null("selfSeen");
#else
    if (!nvml_) {
      cudaDeviceProp prop;
      dev::check(cudaGetDeviceProperties(&prop, 0), "cudaGetDeviceProperties");
      nvml_ = std::make_unique<Nvml>(dev::uuidText(prop.uuid));
    }
    reply.json = nvml_->clocks();
#endif
    return reply;
  }

  Reply selftest(const Request& r) {
    r.expectArgs(0);
    needReady();
    Reply reply;
    reply.json = runSelftest(activity_);
    return reply;
  }

  void needReady() const {
    if (!ready_) usage("hello first");
  }
  void needProblem() const {
    needReady();
    if (!loaded_) usage("problem first");
  }

  bool ready_ = false, loaded_ = false;
  Shim shim_;
  Arms arms_;
  std::vector<DeviceMemory> padding_;
  Buffers buffers_;
  std::vector<CallArg> args_;
  Activity activity_;
#if !defined(CM_HOST)
  std::unique_ptr<Nvml> nvml_;
#endif
};

}  // namespace cm

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: runner SOCKET | runner --selftest\n");
    return 2;
  }
  setenv("CUDA_MODULE_LOADING", "LAZY", 0);
  cm::Runner runner;
  if (std::string(argv[1]) == "--selftest") return runner.selftestAlone();
  cm::serve(argv[1], runner.handlers());
}
