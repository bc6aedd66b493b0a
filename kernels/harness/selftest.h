// `selftest`: proves on this machine what the numbers rest on. Every check can fail and says what it saw.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "activity.h"
#include "buffers.h"
#include "json.h"

namespace cm {

/** Collects named checks; an exception inside one is its failure, not the end. */
class Checks {
 public:
  /** body returns (passed, what was seen). */
  void run(const std::string& name, const std::function<std::pair<bool, std::string>()>& body) {
    std::pair<bool, std::string> result;
    try {
      result = body();
    } catch (const std::exception& e) {
      result = {false, e.what()};
    }
    passed_ = passed_ && result.first;
    list_.add(JsonObject().text("name", name).boolean("ok", result.first).text("saw", result.second).str());
  }
  JsonObject json() const { return JsonObject().boolean("passed", passed_).raw("checks", list_.str()); }

 private:
  JsonArray list_;
  bool passed_ = true;
};

namespace detail {

struct GeneratorCase {
  const char* name;
  Generator gen;
};

inline std::vector<GeneratorCase> generatorCases() {
  return {
      {"uniform", {Kind::uniform, -1.5, 2.25}},
      {"uniform thirds", {Kind::uniform, -1.0 / 3, 0.1}},
      {"wide", {Kind::wide, 0, 0, -20, 20}},
      {"wide subnormal", {Kind::wide, 0, 0, -160, -120}},
      {"wide overflow", {Kind::wide, 0, 0, 120, 135}},
      {"levels", {Kind::levels, -1, 1, 7}},
      {"zeros", {Kind::zeros}},
      {"int", {Kind::integer, 0, 0, -5, 1000003}},
      {"offsets even", {Kind::offsetsEven, 0, 0, 999999, 123456789}},
      {"offsets skewed", {Kind::offsetsSkewed, 0, 0, 999999, 123456789, 16}},
      {"rows shuffled", {Kind::rowsEven, 0, 0, 99999, 1234567, 16, 1}},
      {"rows skewed", {Kind::rowsSkewed, 0, 0, 99999, 1234567, 16, 1}},
      {"ell mixed", {Kind::ellMixed, -1, 1, 99999, 1034567, 16, 23, 0, 0, Kind::uniform}},
      {"ell skewed", {Kind::ellSkewed, 0, 0, 99999, 1034567, 16, 23, -5, 1003, Kind::integer}},
  };
}

/** Every generator in every storage: 2^20 values made by the device against the host's, bit for bit. */
inline std::pair<bool, std::string> generatorsAgree() {
  const int64_t n = 1 << 20;
  const uint64_t key = streamKey(0x0123456789abcdefull, 3);
  const DeviceMemory device(size_t(n) * 4);
  std::vector<uint8_t> host(size_t(n) * 4);
  uint64_t hash = 0;
  for (const GeneratorCase& c : generatorCases()) {
    for (const Storage s : {Storage::f32, Storage::bf16, Storage::i32}) {
      const bool integral = c.gen.kind >= Kind::integer;
      if (s == Storage::i32 && !integral) continue;
      dev::forEach(n, GenerateBody{device.data(), s, c.gen, key});
      dev::copyOut(host.data(), device.data(), size_t(n) * size_t(bytesOf(s)));
      for (int64_t i = 0; i < n; i++) {
        uint32_t want = generateRaw(c.gen, key, s, i);
        if (s == Storage::bf16) want &= 0xffff;
        const uint32_t got = loadRaw(s, host.data(), i);
        if (got != want) return {false, std::string(c.name) + " differs at " + std::to_string(i)};
        hash = mix64(hash ^ want);
      }
    }
  }
  char text[32];
  std::snprintf(text, sizeof text, "hash %016llx", static_cast<unsigned long long>(hash));
  return {true, text};
}

inline ProblemSpec guardProblem() {
  return parseProblem({"problem 0 guarded", "dims N=1001", "buf x in f32 1001 0 uniform 0 1", "buf y out bf16 1001 1"});
}

/** One byte changed on each side of a buffer, and one input element, are found where they were changed. */
inline std::pair<bool, std::string> damageIsFound() {
  Buffers b;
  b.build(guardProblem());
  b.fill(7);
  dev::sync();
  if (!b.checkGuards(7).empty() || !b.checkInputs(7).empty()) return {false, "damage reported where there is none"};
  const uint32_t nan = 0xffffffffu;
  uint8_t* y = static_cast<uint8_t*>(b.data(1));
  dev::copyIn(static_cast<float*>(b.data(0)) + 500, &nan, 4);
  for (uint8_t* at : {y - 3, y + 1001 * 2 + 5}) {
    uint8_t old = 0;
    dev::copyOut(&old, at, 1);
    old = uint8_t(~old);
    dev::copyIn(at, &old, 1);
  }
  const auto guards = b.checkGuards(7);
  const auto inputs = b.checkInputs(7);
  const bool ok = guards.size() == 2 && guards[0].offset == 2 && guards[1].offset == 5 && inputs.size() == 1 && inputs[0].first == 500;
  return {ok, std::to_string(guards.size()) + " guard hits, " + std::to_string(inputs.size()) + " changed inputs"};
}

}  // namespace detail

}  // namespace cm

#if defined(CM_HOST)
namespace cm {
inline JsonObject runSelftest(Activity&) {
  Checks checks;
  checks.run("generators: device equals host", detail::generatorsAgree);
  checks.run("guards and changed inputs", detail::damageIsFound);
  return checks.json();
}
}  // namespace cm
#else
#include "selftest_cuda.h"
#endif
