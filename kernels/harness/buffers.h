// The buffers of a problem on the device: allocation with guard zones, inputs, poison, checks, reading back.
#pragma once

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "bodies.h"
#include "device.h"
#include "json.h"
#include "problem.h"

namespace cm {

constexpr size_t kGuardBytes = 64u << 10;
constexpr size_t kStagingBytes = 16u << 20;

/** A device allocation that is freed with its object. */
class DeviceMemory {
 public:
  DeviceMemory() = default;
  explicit DeviceMemory(size_t bytes) : data_(dev::allocate(bytes)), bytes_(bytes) {}
  DeviceMemory(DeviceMemory&& o) noexcept : data_(o.data_), bytes_(o.bytes_) { o.data_ = nullptr, o.bytes_ = 0; }
  DeviceMemory& operator=(DeviceMemory&& o) noexcept {
    std::swap(data_, o.data_);
    std::swap(bytes_, o.bytes_);
    return *this;
  }
  ~DeviceMemory() { dev::release(data_); }
  void* data() const { return data_; }
  uint8_t* bytesAt(size_t offset) const { return static_cast<uint8_t*>(data_) + offset; }
  size_t bytes() const { return bytes_; }

 private:
  void* data_ = nullptr;
  size_t bytes_ = 0;
};

struct GuardHit {
  int buffer;
  const char* side;
  int64_t offset;
};
struct InputChange {
  int buffer;
  int64_t mismatches;
  int64_t first;
};

class Buffers {
 public:
  /** Frees the former problem, then allocates; throws CommandError("memory") and holds nothing if it does not fit. */
  void build(const ProblemSpec& spec) {
    clear();
    try {
      for (const BufferSpec& b : spec.buffers) memory_.emplace_back(spec.guarded ? b.bytes() + 2 * kGuardBytes : b.bytes());
      tally_ = DeviceMemory(sizeof(Tally));
    } catch (...) {
      clear();
      throw;
    }
    spec_ = spec;
  }

  void clear() {
    memory_.clear();
    positions_ = DeviceMemory();
    gathered_ = DeviceMemory();
    spec_ = ProblemSpec();
  }

  const ProblemSpec& spec() const { return spec_; }
  bool guarded() const { return spec_.guarded; }
  void* data(int b) const { return memory_.at(size_t(b)).bytesAt(guarded() ? kGuardBytes : 0); }
  const BufferSpec& buffer(int b) const { return spec_.buffers.at(size_t(b)); }
  int64_t totalBytes() const {
    int64_t sum = 0;
    for (const DeviceMemory& m : memory_) sum += int64_t(m.bytes());
    return sum;
  }

  /** Inputs from the seed; outputs poisoned and guards written (guarded mode only: a sanitizer must see what is not written). */
  void fill(uint64_t seed) {
    for (int b = 0; b < count(); b++) {
      const BufferSpec& s = buffer(b);
      if (s.generated()) dev::forEach(s.count, GenerateBody{data(b), s.elem, s.gen, streamKey(seed, s.ordinal)});
      if (!guarded()) continue;
      if (!s.generated()) dev::forEach(s.count, PoisonBody{data(b), s.elem});
      for (int side = 0; side < 2; side++)
        dev::forEach(int64_t(kGuardBytes), GuardBody{guardStart(b, side), side ? 1 : -1, guardKey(seed, uint64_t(b), side)});
    }
  }

  std::vector<GuardHit> checkGuards(uint64_t seed) {
    std::vector<GuardHit> hits;
    for (int b = 0; guarded() && b < count(); b++) {
      for (int side = 0; side < 2; side++) {
        const GuardCheckBody body{guardStart(b, side), side ? 1 : -1, guardKey(seed, uint64_t(b), side), tally()};
        const Tally t = tallied(int64_t(kGuardBytes), body);
        if (t.count) hits.push_back({b, side ? "after" : "before", int64_t(t.first)});
      }
    }
    return hits;
  }

  std::vector<InputChange> checkInputs(uint64_t seed) {
    std::vector<InputChange> changes;
    for (int b = 0; b < count(); b++) {
      const BufferSpec& s = buffer(b);
      if (s.role != Role::in) continue;
      const Tally t = tallied(s.count, CompareBody{data(b), s.elem, s.gen, streamKey(seed, s.ordinal), tally()});
      if (t.count) changes.push_back({b, int64_t(t.count), int64_t(t.first)});
    }
    return changes;
  }

  /** Raw elements at the positions (u64, host byte order). */
  std::string gather(int b, const std::string& positions) {
    const BufferSpec& s = buffer(b);
    if (positions.size() % sizeof(uint64_t) != 0) usage("positions are 8 bytes each");
    const size_t n = positions.size() / sizeof(uint64_t);
    std::vector<uint64_t> at(n);
    std::memcpy(at.data(), positions.data(), positions.size());
    for (const uint64_t p : at)
      if (p >= uint64_t(s.count)) usage("position " + std::to_string(p) + " is outside of " + s.name);
    std::string out(n * size_t(bytesOf(s.elem)), '\0');
    ensure(positions_, positions.size());
    ensure(gathered_, out.size());
    dev::copyIn(positions_.data(), at.data(), positions.size());
    dev::forEach(int64_t(n), GatherBody{data(b), s.elem, static_cast<const uint64_t*>(positions_.data()), gathered_.data()});
    dev::copyOut(&out[0], gathered_.data(), out.size());
    return out;
  }

  /** Writes the whole buffer to a new file; returns its bytes. */
  int64_t dump(int b, const std::string& path) {
    const size_t bytes = buffer(b).bytes();
    const int fd = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
    if (fd < 0) throw CommandError("io", path + ": " + std::strerror(errno));
    struct Closer {
      int fd;
      ~Closer() { close(fd); }
    } closer{fd};
    if (!staging_) staging_ = dev::allocatePinned(kStagingBytes);
    for (size_t at = 0; at < bytes; at += kStagingBytes) {
      const size_t n = std::min(kStagingBytes, bytes - at);
      dev::copyOut(staging_, static_cast<const uint8_t*>(data(b)) + at, n);
      writeAll(fd, static_cast<const char*>(staging_), n, path);
    }
    return int64_t(bytes);
  }

 private:
  int count() const { return int(spec_.buffers.size()); }
  Tally* tally() const { return static_cast<Tally*>(tally_.data()); }

  /** First guard byte next to the data: position 0 of its side. */
  uint8_t* guardStart(int b, int side) const {
    uint8_t* start = static_cast<uint8_t*>(data(b));
    return side ? start + buffer(b).bytes() : start - 1;
  }

  template <class Body>
  Tally tallied(int64_t n, const Body& body) {
    Tally t{0, kNone};
    dev::copyIn(tally_.data(), &t, sizeof t);
    dev::forEach(n, body);
    dev::copyOut(&t, tally_.data(), sizeof t);
    return t;
  }

  static void ensure(DeviceMemory& m, size_t bytes) {
    if (m.bytes() < bytes) m = DeviceMemory(bytes);
  }

  static void writeAll(int fd, const char* p, size_t n, const std::string& path) {
    while (n > 0) {
      const ssize_t w = write(fd, p, n);
      if (w < 0 && errno == EINTR) continue;
      if (w <= 0) throw CommandError("io", path + ": " + std::strerror(errno));
      p += w, n -= size_t(w);
    }
  }

  ProblemSpec spec_;
  std::vector<DeviceMemory> memory_;
  DeviceMemory tally_, positions_, gathered_;
  void* staging_ = nullptr;
};

}  // namespace cm
