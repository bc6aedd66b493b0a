// judge SOCKET: makes the same inputs as the runner from the seed, evaluates the task's reference in double and compares
// (PROTOCOL.md, "Judge commands"). Compiled per task with its reference.h; never sees candidate code.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <list>
#include <memory>
#include <type_traits>

#include "compare.h"
#include "reference.h"
#include "wire.h"

#ifndef CM_TASK
#define CM_TASK unnamed
#endif
#define CM_TEXT_(x) #x
#define CM_TEXT(x) CM_TEXT_(x)

namespace cm {

namespace detail {

constexpr int64_t kChunk = 1 << 16;  // elements per piece of work
constexpr int64_t kBlock = 1024;     // reference values held at once
constexpr size_t kCachedSeeds = 4;

template <class R, class = void>
struct HasAll : std::false_type {};
template <class R>
struct HasAll<R, std::void_t<decltype(std::declval<const R&>().all(0, int64_t(0), int64_t(0), static_cast<Ref*>(nullptr)))>> : std::true_type {};

template <class R, class = void>
struct SignedZeros : std::false_type {};
template <class R>
struct SignedZeros<R, std::void_t<decltype(R::signedZeros)>> : std::bool_constant<R::signedZeros> {};

/** A dumped buffer, mapped read-only. */
class MappedFile {
 public:
  MappedFile(const std::string& path, size_t bytes) : bytes_(bytes) {
    const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    if (fd < 0) throw CommandError("io", path + ": " + std::strerror(errno));
    struct stat st {};
    const bool fits = fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && size_t(st.st_size) == bytes;
    void* p = fits && bytes ? mmap(nullptr, bytes, PROT_READ, MAP_PRIVATE, fd, 0) : nullptr;
    const int error = errno;
    close(fd);
    if (!fits) throw CommandError("io", path + ": expected a file of " + std::to_string(bytes) + " bytes, found " + std::to_string(st.st_size));
    if (p == MAP_FAILED) throw CommandError("io", path + ": " + std::strerror(error));
    data_ = p;
  }
  MappedFile(const MappedFile&) = delete;
  ~MappedFile() {
    if (data_) munmap(data_, bytes_);
  }
  const void* data() const { return data_; }

 private:
  void* data_ = nullptr;
  size_t bytes_;
};

/** Writes count raw elements, made piece by piece in parallel. */
template <class RawAt>
int64_t writeElements(const std::string& path, Storage elem, int64_t count, const RawAt& fillRange) {
  FILE* f = std::fopen(path.c_str(), "wb");
  if (!f) throw CommandError("io", path + ": " + std::strerror(errno));
  std::vector<uint8_t> piece;
  bool ok = true;
  for (int64_t at = 0; ok && at < count; at += 64 * kChunk) {
    const int64_t n = std::min(count - at, 64 * kChunk);
    piece.resize(size_t(n) * size_t(bytesOf(elem)));
    parallelChunks(n, kChunk, [&](int64_t, int64_t b, int64_t e) { fillRange(at, b, e, piece.data()); });
    ok = std::fwrite(piece.data(), 1, piece.size(), f) == piece.size();
  }
  ok = std::fclose(f) == 0 && ok;
  if (!ok) throw CommandError("io", path + ": " + std::strerror(errno));
  return count * bytesOf(elem);
}

}  // namespace detail

class Judge {
 public:
  Handlers handlers() {
    return {
        {"hello", [this](const Request& r) { return hello(r); }},
        {"problem", [this](const Request& r) { return problem(r); }},
        {"at", [this](const Request& r) { return at(r); }},
        {"all", [this](const Request& r) { return all(r); }},
        {"reference", [this](const Request& r) { return reference(r); }},
        {"input", [this](const Request& r) { return input(r); }},
    };
  }

 private:
  /** One seed's inputs and the reference built on them. */
  struct Seeded {
    Seeded(const ProblemSpec& spec, uint64_t seed) : seed(seed), problem(spec, seed), reference(problem) {}
    uint64_t seed;
    Problem problem;
    task::Reference reference;
  };

  Reply hello(const Request& r) {
    r.expectArgs(0);
    Reply reply;
    reply.json.text("task", CM_TEXT(CM_TASK)).integer("threads", processorCount());
    return reply;
  }

  Reply problem(const Request& r) {
    ProblemSpec next = parseProblem(r.lines);
    cache_.clear();
    spec_ = std::make_unique<ProblemSpec>(std::move(next));
    int64_t bytes = 0;
    for (const BufferSpec& b : spec_->buffers) bytes += int64_t(b.bytes());
    Reply reply;
    reply.json.integer("bytes", bytes);
    return reply;
  }

  const ProblemSpec& spec() const {
    if (!spec_) usage("problem first");
    return *spec_;
  }

  /** The reference of a seed; the last few are kept, since each arm sees each seed. */
  const task::Reference& referenceOf(uint64_t seed) {
    for (auto it = cache_.begin(); it != cache_.end(); ++it) {
      if ((*it)->seed != seed) continue;
      cache_.splice(cache_.begin(), cache_, it);
      return cache_.front()->reference;
    }
    if (cache_.size() >= detail::kCachedSeeds) cache_.pop_back();
    cache_.push_front(std::make_unique<Seeded>(spec(), seed));
    return cache_.front()->reference;
  }

  int bufferArg(const Request& r, size_t i) const {
    const int64_t b = parseInt(r.arg(i));
    if (b < 0 || b >= int64_t(spec().buffers.size())) usage("no such buffer: " + r.arg(i));
    return int(b);
  }

  /** Index among the out and inout buffers. */
  int outputIndex(int buffer) const {
    if (!spec().buffers[size_t(buffer)].output()) usage("not an output: " + spec().buffers[size_t(buffer)].name);
    int n = 0;
    for (int b = 0; b < buffer; b++) n += spec().buffers[size_t(b)].output();
    return n;
  }

  Rule ruleOf(int buffer) const {
    for (const LimitSpec& l : spec().limits)
      if (l.buffer == buffer) return Rule{l, spec().buffers[size_t(buffer)].elem, detail::SignedZeros<task::Reference>::value};
    usage("no tol line for " + spec().buffers[size_t(buffer)].name);
  }

  template <class R>
  static void evaluate(const R& ref, int output, int64_t first, int64_t count, Ref* out) {
    if constexpr (detail::HasAll<R>::value) {
      ref.all(output, first, count, out);
    } else {
      for (int64_t i = 0; i < count; i++) out[i] = ref.at(output, first + i);
    }
  }

  Reply at(const Request& r) {
    r.expectArgs(2);
    const uint64_t seed = parseSeed(r.arg(0));
    const int b = bufferArg(r, 1);
    const BufferSpec& buffer = spec().buffers[size_t(b)];
    const int output = outputIndex(b);
    const Rule rule = ruleOf(b);
    const size_t each = sizeof(uint64_t) + size_t(bytesOf(buffer.elem));
    if (r.blob.size() % each != 0) usage("at: positions and elements do not pair up");
    const int64_t n = int64_t(r.blob.size() / each);
    std::vector<uint64_t> positions(static_cast<size_t>(n));
    if (n) std::memcpy(positions.data(), r.blob.data(), size_t(n) * sizeof(uint64_t));
    for (const uint64_t p : positions)
      if (p >= uint64_t(buffer.count)) usage("position " + std::to_string(p) + " is outside of " + buffer.name);
    std::vector<uint8_t> elements(r.blob.begin() + std::ptrdiff_t(n * int64_t(sizeof(uint64_t))), r.blob.end());
    const task::Reference& ref = referenceOf(seed);
    std::vector<Ref> refs(static_cast<size_t>(n));
    parallelChunks(n, 16, [&](int64_t, int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; i++) refs[size_t(i)] = ref.at(output, int64_t(positions[size_t(i)]));
    });
    Findings f;
    for (int64_t i = 0; i < n; i++)
      compareOne(rule, int64_t(positions[size_t(i)]), loadRaw(buffer.elem, elements.data(), i), refs[size_t(i)], f);
    Reply reply;
    reply.json.integer("compared", f.compared).integer("bad", f.bad).integer("nonFinite", f.nonFinite);
    reply.json.number("worst", f.finite > 0 ? f.worst : std::nan("")).raw("first", wrongJson(f.first));
    return reply;
  }

  Reply all(const Request& r) {
    r.expectArgs(3);
    const uint64_t seed = parseSeed(r.arg(0));
    const int b = bufferArg(r, 1);
    const BufferSpec& buffer = spec().buffers[size_t(b)];
    const int output = outputIndex(b);
    const Rule rule = ruleOf(b);
    const detail::MappedFile file(r.arg(2), buffer.bytes());
    const task::Reference& ref = referenceOf(seed);
    std::vector<Findings> parts(size_t((buffer.count + detail::kChunk - 1) / detail::kChunk));
    parallelChunks(buffer.count, detail::kChunk, [&](int64_t chunk, int64_t begin, int64_t end) {
      std::vector<Ref> refs(size_t(detail::kBlock));
      Findings& f = parts[size_t(chunk)];
      for (int64_t i = begin; i < end; i += detail::kBlock) {
        const int64_t n = std::min(detail::kBlock, end - i);
        evaluate(ref, output, i, n, refs.data());
        for (int64_t k = 0; k < n; k++) compareOne(rule, i + k, loadRaw(buffer.elem, file.data(), i + k), refs[size_t(k)], f);
      }
    });
    Findings sum;
    for (const Findings& f : parts) sum.merge(f);
    Reply reply;
    reply.json.raw("comparison", comparisonJson(buffer.name, sum, rule));
    return reply;
  }

  Reply reference(const Request& r) {
    r.expectArgs(3);
    const uint64_t seed = parseSeed(r.arg(0));
    const int b = bufferArg(r, 1);
    const BufferSpec& buffer = spec().buffers[size_t(b)];
    const int output = outputIndex(b);
    const task::Reference& ref = referenceOf(seed);
    Reply reply;
    reply.json.integer("bytes", detail::writeElements(r.arg(2), buffer.elem, buffer.count, [&](int64_t base, int64_t begin, int64_t end, void* out) {
      std::vector<Ref> refs(size_t(end - begin));
      evaluate(ref, output, base + begin, end - begin, refs.data());
      for (int64_t i = begin; i < end; i++) storeRaw(buffer.elem, out, i, encode(buffer.elem, refs[size_t(i - begin)].value));
    }));
    return reply;
  }

  Reply input(const Request& r) {
    r.expectArgs(3);
    const uint64_t seed = parseSeed(r.arg(0));
    const BufferSpec& buffer = spec().buffers[size_t(bufferArg(r, 1))];
    if (!buffer.generated()) usage("not an input: " + buffer.name);
    const View view(buffer, seed);
    Reply reply;
    reply.json.integer("bytes", detail::writeElements(r.arg(2), buffer.elem, buffer.count, [&](int64_t base, int64_t begin, int64_t end, void* out) {
      for (int64_t i = begin; i < end; i++) storeRaw(buffer.elem, out, i, view.raw(base + i));
    }));
    return reply;
  }

  std::unique_ptr<ProblemSpec> spec_;
  std::list<std::unique_ptr<Seeded>> cache_;
};

}  // namespace cm

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: judge SOCKET\n");
    return 2;
  }
  cm::Judge judge;
  cm::serve(argv[1], judge.handlers());
}
