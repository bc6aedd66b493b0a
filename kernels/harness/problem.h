// The `problem` command: one size of a task with its buffers, arguments and limits (PROTOCOL.md, "Problem description").
#pragma once

#include <cerrno>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "error.h"
#include "generators.h"

namespace cm {

enum class Role { in, out, inout };

struct BufferSpec {
  std::string name;
  Role role = Role::in;
  Storage elem = Storage::f32;
  int64_t count = 0;
  uint64_t ordinal = 0;
  Generator gen;

  bool generated() const { return role != Role::out; }
  bool output() const { return role != Role::in; }
  size_t bytes() const { return size_t(count) * size_t(bytesOf(elem)); }
};

struct ArgSpec {
  /** Letter of the shim's signature: p pointer, i int, l long, f float, h bf16. */
  char type = 'p';
  int buffer = -1;
  int64_t integer = 0;
  double real = 0;
};

struct LimitSpec {
  int buffer = 0;
  double c = 0, rms = 0, uOut = 0, uAcc = 0;
};

struct ProblemSpec {
  bool guarded = true;
  std::vector<std::pair<std::string, int64_t>> dims;
  std::vector<BufferSpec> buffers;
  std::vector<ArgSpec> args;
  std::vector<LimitSpec> limits;

  int bufferIndex(const std::string& name) const {
    for (size_t i = 0; i < buffers.size(); i++)
      if (buffers[i].name == name) return int(i);
    usage("no buffer named " + name);
  }
};

inline std::vector<std::string> tokensOf(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> tokens;
  for (std::string t; in >> t;) tokens.push_back(t);
  return tokens;
}

inline int64_t parseInt(const std::string& s) {
  char* end = nullptr;
  errno = 0;
  const long long v = std::strtoll(s.c_str(), &end, 10);
  if (s.empty() || *end || errno) usage("not an integer: " + s);
  return v;
}

inline double parseReal(const std::string& s) {
  char* end = nullptr;
  const double v = std::strtod(s.c_str(), &end);
  if (s.empty() || *end || v != v) usage("not a number: " + s);
  return v;
}

/** 16 hexadecimal digits, any fewer are refused: a cut seed must not pass for a seed. */
inline uint64_t parseSeed(const std::string& s) {
  if (s.size() != 16 || s.find_first_not_of("0123456789abcdefABCDEF") != std::string::npos) usage("a seed has 16 hex digits: " + s);
  return std::strtoull(s.c_str(), nullptr, 16);
}

inline Storage parseStorage(const std::string& s) {
  if (s == "f32") return Storage::f32;
  if (s == "bf16") return Storage::bf16;
  if (s == "i32") return Storage::i32;
  usage("unknown storage: " + s);
}

namespace detail {

inline void expect(bool condition, const std::string& message) {
  if (!condition) usage(message);
}

inline Generator parseOffsets(const std::vector<std::string>& t) {
  expect(t.size() == 5, "offsets ROWS NNZ even|skewed EVERY");
  Generator g;
  g.a = parseInt(t[1]);
  g.b = parseInt(t[2]);
  g.c = parseInt(t[4]);
  expect(g.a >= 0 && g.b >= 0 && g.c >= 1, "offsets: ROWS, NNZ >= 0, EVERY >= 1");
  expect(g.b <= std::numeric_limits<int32_t>::max(), "offsets: NNZ above 2^31-1");
  expect(t[3] == "even" || t[3] == "skewed", "offsets: even or skewed");
  g.kind = t[3] == "even" ? Kind::offsetsEven : Kind::offsetsSkewed;
  return g;
}

inline Generator parseRows(const std::vector<std::string>& t) {
  expect(t.size() == 6, "rows ROWS NNZ even|skewed EVERY sorted|shuffled");
  Generator g;
  g.a = parseInt(t[1]);
  g.b = parseInt(t[2]);
  g.c = parseInt(t[4]);
  expect(g.a >= 1 && g.b >= 0 && g.c >= 1, "rows: ROWS >= 1, NNZ >= 0, EVERY >= 1");
  expect(g.a <= (1ll << 31) && g.b <= (1ll << 40), "rows: ROWS up to 2^31, NNZ up to 2^40");
  expect(t[3] == "even" || t[3] == "skewed", "rows: even or skewed");
  expect(t[5] == "sorted" || t[5] == "shuffled", "rows: sorted or shuffled");
  g.kind = t[3] == "even" ? Kind::rowsEven : Kind::rowsSkewed;
  g.d = t[5] == "shuffled";
  return g;
}

inline Generator parseElement(const std::vector<std::string>& t);

inline Generator parseEll(const std::vector<std::string>& t) {
  expect(t.size() >= 7, "ell ROWS NNZ WIDTH mixed|skewed EVERY GENERATOR");
  Generator g = parseElement(std::vector<std::string>(t.begin() + 6, t.end()));
  g.inner = g.kind, g.e = g.a, g.f = g.b;
  g.a = parseInt(t[1]);
  g.b = parseInt(t[2]);
  g.d = parseInt(t[3]);
  g.c = parseInt(t[5]);
  expect(g.a >= 1 && g.b >= 0 && g.c >= 1 && g.d >= 1, "ell: ROWS, EVERY, WIDTH >= 1, NNZ >= 0");
  expect(g.a <= (1ll << 31) && g.d <= (1ll << 31) && g.b <= g.a * g.d, "ell: NNZ up to ROWS * WIDTH");
  expect(t[4] == "mixed" || t[4] == "skewed", "ell: mixed or skewed");
  g.kind = t[4] == "mixed" ? Kind::ellMixed : Kind::ellSkewed;
  return g;
}

inline Generator parseGenerator(const std::vector<std::string>& t) {
  expect(!t.empty(), "in and inout buffers need a generator");
  if (t[0] == "offsets") return parseOffsets(t);
  if (t[0] == "rows") return parseRows(t);
  if (t[0] == "ell") return parseEll(t);
  return parseElement(t);
}

/** Generators of single values, which ell may contain. */
inline Generator parseElement(const std::vector<std::string>& t) {
  Generator g;
  if (t[0] == "uniform") {
    expect(t.size() == 3, "uniform LO HI");
    g.kind = Kind::uniform, g.lo = parseReal(t[1]), g.hi = parseReal(t[2]);
  } else if (t[0] == "wide") {
    expect(t.size() == 3, "wide LOEXP HIEXP");
    g.kind = Kind::wide, g.a = parseInt(t[1]), g.b = parseInt(t[2]);
    expect(g.a < g.b && g.a >= -1000 && g.b <= 1000, "wide: -1000 <= LOEXP < HIEXP <= 1000");
  } else if (t[0] == "levels") {
    expect(t.size() == 4, "levels LO HI LEVELS");
    g.kind = Kind::levels, g.lo = parseReal(t[1]), g.hi = parseReal(t[2]), g.a = parseInt(t[3]);
    expect(g.a >= 1 && g.a <= (1ll << 31), "levels: LEVELS in 1 … 2^31");
  } else if (t[0] == "zeros") {
    expect(t.size() == 1, "zeros takes no parameter");
    g.kind = Kind::zeros;
  } else if (t[0] == "int") {
    expect(t.size() == 3, "int LO HI");
    g.kind = Kind::integer, g.a = parseInt(t[1]), g.b = parseInt(t[2]);
    expect(g.a >= -(1ll << 31) && g.b <= (1ll << 31) && g.b >= g.a, "int: -2^31 <= LO <= HI <= 2^31");
  } else {
    usage("unknown generator: " + t[0]);
  }
  return g;
}

inline BufferSpec parseBuffer(const std::vector<std::string>& t) {
  expect(t.size() >= 6, "buf NAME ROLE STORAGE COUNT ORDINAL [GENERATOR]");
  BufferSpec b;
  b.name = t[1];
  expect(t[2] == "in" || t[2] == "out" || t[2] == "inout", "unknown role: " + t[2]);
  b.role = t[2] == "in" ? Role::in : t[2] == "out" ? Role::out : Role::inout;
  b.elem = parseStorage(t[3]);
  b.count = parseInt(t[4]);
  const int64_t ordinal = parseInt(t[5]);
  expect(b.count >= 0 && b.count <= (1ll << 40), "count out of range: " + t[4]);
  expect(ordinal >= 0 && ordinal < (1 << 20), "ordinal out of range: " + t[5]);
  b.ordinal = uint64_t(ordinal);
  const std::vector<std::string> rest(t.begin() + 6, t.end());
  if (!b.generated()) {
    expect(rest.empty(), "an out buffer has no generator");
    return b;
  }
  b.gen = parseGenerator(rest);
  const Kind kind = b.gen.inner == Kind::none ? b.gen.kind : b.gen.inner;
  const bool integral = kind == Kind::integer || kind == Kind::offsetsEven || kind == Kind::offsetsSkewed ||
                        kind == Kind::rowsEven || kind == Kind::rowsSkewed;
  expect(b.elem != Storage::i32 || integral, "an i32 buffer needs an int, offsets or rows generator");
  expect(b.gen.kind != Kind::integer || b.gen.b > b.gen.a || b.count == 0, "int: empty range for " + b.name);
  expect(b.gen.inner != Kind::integer || b.gen.f > b.gen.e, "ell: empty range for " + b.name);
  return b;
}

inline ArgSpec parseArg(const std::vector<std::string>& t) {
  expect(t.size() == 3, "arg KIND VALUE");
  ArgSpec a;
  if (t[1] == "buf") a.type = 'p', a.buffer = int(parseInt(t[2]));
  else if (t[1] == "int") a.type = 'i', a.integer = parseInt(t[2]);
  else if (t[1] == "long") a.type = 'l', a.integer = parseInt(t[2]);
  else if (t[1] == "float") a.type = 'f', a.real = parseReal(t[2]);
  else if (t[1] == "bf16") a.type = 'h', a.real = parseReal(t[2]);
  else usage("unknown argument kind: " + t[1]);
  expect(a.type != 'i' || (a.integer >= INT32_MIN && a.integer <= INT32_MAX), "int argument out of range: " + t[2]);
  return a;
}

inline void parseDims(const std::vector<std::string>& t, ProblemSpec& p) {
  for (size_t i = 1; i < t.size(); i++) {
    const size_t eq = t[i].find('=');
    expect(eq != std::string::npos && eq > 0, "dims NAME=VALUE: " + t[i]);
    p.dims.emplace_back(t[i].substr(0, eq), parseInt(t[i].substr(eq + 1)));
  }
}

inline LimitSpec parseLimit(const std::vector<std::string>& t) {
  expect(t.size() == 6, "tol BUFINDEX C RMS UOUT UACC");
  return {int(parseInt(t[1])), parseReal(t[2]), parseReal(t[3]), parseReal(t[4]), parseReal(t[5])};
}

inline void checkIndices(const ProblemSpec& p) {
  const int n = int(p.buffers.size());
  for (const ArgSpec& a : p.args) expect(a.type != 'p' || (a.buffer >= 0 && a.buffer < n), "arg buf: no such buffer");
  for (const LimitSpec& l : p.limits)
    expect(l.buffer >= 0 && l.buffer < n && p.buffers[size_t(l.buffer)].output(), "tol: not an output buffer");
}

}  // namespace detail

/** Parses the lines of a `problem` request; throws CommandError("usage") naming the line that is wrong. */
inline ProblemSpec parseProblem(const std::vector<std::string>& lines) {
  const std::vector<std::string> head = tokensOf(lines.at(0));
  detail::expect(head.size() == 3 && (head[2] == "guarded" || head[2] == "exact"), "problem NONCE guarded|exact");
  ProblemSpec p;
  p.guarded = head[2] == "guarded";
  for (size_t i = 1; i < lines.size(); i++) {
    const std::vector<std::string> t = tokensOf(lines[i]);
    if (t.empty()) continue;
    if (t[0] == "dims") detail::parseDims(t, p);
    else if (t[0] == "buf") p.buffers.push_back(detail::parseBuffer(t));
    else if (t[0] == "arg") p.args.push_back(detail::parseArg(t));
    else if (t[0] == "tol") p.limits.push_back(detail::parseLimit(t));
    else usage("unknown line in problem: " + t[0]);
  }
  detail::checkIndices(p);
  return p;
}

}  // namespace cm
