// Clocks and foreign processes through NVML, loaded with dlopen: where it is missing the answers are null, not zero.
#pragma once

#include <dlfcn.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "json.h"

namespace cm {

class Nvml {
 public:
  /** uuid as in the GPU's description ("GPU-…"). */
  explicit Nvml(const std::string& uuid) {
    lib_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!lib_) return;
    auto init = get<int (*)()>("nvmlInit_v2");
    auto byUuid = get<int (*)(const char*, void**)>("nvmlDeviceGetHandleByUUID");
    if (init && byUuid && init() == 0 && byUuid(uuid.c_str(), &device_) != 0) device_ = nullptr;
  }

  /** `smMHz`, `memMHz`, `foreign`, `selfSeen` of the reply. */
  JsonObject clocks() const {
    JsonObject o;
    o.raw("smMHz", clock(1)).raw("memMHz", clock(2));
    std::vector<Process> list;
    if (!processes(list)) return o.raw("foreign", "[]").null("selfSeen");
    bool self = false;
    std::vector<Process> others;
    for (const Process& p : list) {
      if (p.pid == unsigned(getpid())) self = true;
      else others.push_back(p);
    }
    // In a PID namespace NVML names us by a number that we cannot know: then one entry, we cannot tell which, is ourselves.
    if (!self && !others.empty()) others.pop_back();
    JsonArray foreign;
    for (const Process& p : others) foreign.add(JsonObject().integer("pid", p.pid).text("name", name(p.pid)).str());
    return o.raw("foreign", foreign.str()).boolean("selfSeen", self);
  }

 private:
  /** nvmlProcessInfo_t of nvmlDeviceGetComputeRunningProcesses_v3. */
  struct Process {
    unsigned pid;
    unsigned long long usedMemory;
    unsigned gpuInstance, computeInstance;
  };

  template <class F>
  F get(const char* symbol) const {
    return lib_ ? reinterpret_cast<F>(dlsym(lib_, symbol)) : nullptr;
  }

  std::string clock(int type) const {
    auto f = get<int (*)(void*, int, unsigned*)>("nvmlDeviceGetClockInfo");
    unsigned mhz = 0;
    return device_ && f && f(device_, type, &mhz) == 0 ? std::to_string(mhz) : "null";
  }

  bool processes(std::vector<Process>& out) const {
    auto f = get<int (*)(void*, unsigned*, Process*)>("nvmlDeviceGetComputeRunningProcesses_v3");
    if (!device_ || !f) return false;
    out.resize(64);
    unsigned count = unsigned(out.size());
    if (f(device_, &count, out.data()) != 0) return false;
    out.resize(count);
    return true;
  }

  std::string name(unsigned pid) const {
    auto f = get<int (*)(unsigned, char*, unsigned)>("nvmlSystemGetProcessName");
    char text[256] = "";
    return f && f(pid, text, sizeof text) == 0 ? text : "";
  }

  void* lib_ = nullptr;
  void* device_ = nullptr;
};

}  // namespace cm
