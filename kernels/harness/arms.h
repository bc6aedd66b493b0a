// Versions under test (arms) and the shim that calls them: shared libraries opened with RTLD_NOW | RTLD_LOCAL.
#pragma once

#include <dlfcn.h>

#include <map>
#include <string>
#include <vector>

#include "problem.h"

namespace cm {

/** One generic argument; the shim of main/jobs/session/shim.ts declares the same union. */
union CallArg {
  void* pointer;
  int i;
  long l;
  float f;
  unsigned short h;
};

namespace detail {

inline void* open(const std::string& path) {
  // A name without a slash would be searched in the library path instead of the working directory.
  const std::string file = path.find('/') == std::string::npos ? "./" + path : path;
  void* lib = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (lib) return lib;
  const char* e = dlerror();
  throw CommandError("load", e ? e : "dlopen failed: " + path);
}

inline void* symbol(void* lib, const std::string& name, const std::string& path) {
  void* s = dlsym(lib, name.c_str());
  if (!s) throw CommandError("load", path + " does not export " + name);
  return s;
}

}  // namespace detail

class Shim {
 public:
  void load(const std::string& path) {
    void* lib = detail::open(path);
    signature_ = static_cast<const char*>(detail::symbol(lib, "cm_shim_signature", path));
    call_ = reinterpret_cast<Call>(detail::symbol(lib, "cm_shim_call", path));
  }

  /** Throws unless the problem's arguments have the types of the wrapper's parameters. */
  void checkSignature(const ProblemSpec& p) const {
    if (!call_) usage("shim first");
    std::string types;
    for (const ArgSpec& a : p.args) types += a.type;
    if (types != signature_) usage("arguments " + types + " do not fit the shim's signature " + signature_);
  }

  void operator()(void* wrapper, const CallArg* args) const { call_(wrapper, args); }

 private:
  using Call = void (*)(void* wrapper, const CallArg* args);
  Call call_ = nullptr;
  std::string signature_;
};

class Arms {
 public:
  void load(const std::string& arm, const std::string& path, const std::string& name) {
    wrappers_[arm] = detail::symbol(detail::open(path), name, path);
  }
  void* wrapper(const std::string& arm) const {
    const auto found = wrappers_.find(arm);
    if (found == wrappers_.end()) usage("arm is not loaded: " + arm);
    return found->second;
  }

 private:
  std::map<std::string, void*> wrappers_;
};

}  // namespace cm
