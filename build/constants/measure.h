// Common part of the programs that measure error constants (build/measure-constants.ts): reads problems with seeds from
// stdin, lets every variant of a task compute the outputs, compares them with the task's own reference.
#pragma once

#include <cstdio>
#include <functional>
#include <iostream>
#include <random>
#include <string>
#include <vector>

#include "reference.h"

namespace measure {

// ---------------------------------------------------------------------------------- formats, to nearest even

/** A float with `dropped` low fraction bits rounded away; range of float. */
inline float dropBits(float v, int dropped) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  if ((b & 0x7f800000u) == 0x7f800000u) return v;
  b += (1u << (dropped - 1)) - 1 + ((b >> dropped) & 1);
  b &= ~((1u << dropped) - 1);
  memcpy(&v, &b, sizeof v);
  return v;
}
inline float toBf16(float v) { return dropBits(v, 16); }
inline float toTf32(float v) { return dropBits(v, 13); }
/** fp16: 10 fraction bits, exponents -14 to 15, subnormals on a grid of 2^-24. */
inline float toHalf(float v) {
  if (!(std::fabs(v) < 65520.0f)) return v != v ? v : std::copysign(INFINITY, v);
  if (std::fabs(v) < 0x1p-14f) return (v + 0.75f) - 0.75f;
  return dropBits(v, 13);
}
/** bf16 towards zero: what a shift of the bits gives. */
inline float truncateBf16(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  b &= 0xffff0000u;
  memcpy(&v, &b, sizeof v);
  return v;
}

using Rounding = float (*)(float);
inline float toFloat(float v) { return v; }

// --------------------------------------------------------------------------------------- orders of summation

using Values = std::vector<float>;

/** One after the other; R rounds every partial sum. */
template <Rounding R = toFloat>
float sequential(const Values& v) {
  float s = 0;
  for (float t : v) s = R(s + t);
  return s;
}

/** Halves added recursively, as a tree of warps and blocks does. */
template <Rounding R = toFloat>
float tree(const float* v, size_t n) {
  if (n == 0) return 0;
  if (n == 1) return R(v[0]);
  const size_t half = n / 2;
  return R(tree<R>(v, half) + tree<R>(v + half, n - half));
}
template <Rounding R = toFloat>
float tree(const Values& v) {
  return tree<R>(v.data(), v.size());
}

/** Partial sums of `threads` threads that walk with a stride of their number. */
template <Rounding R = toFloat>
Values strided(size_t n, size_t threads, const std::function<float(size_t)>& term) {
  Values s(std::max<size_t>(1, std::min(threads, n)), 0.0f);
  const size_t stride = s.size();
  for (size_t i = 0, t = 0; i < n; i++, t = t + 1 == stride ? 0 : t + 1) s[t] = R(s[t] + term(i));
  return s;
}

inline Values shuffled(Values v, uint64_t seed) {
  std::mt19937_64 random(seed);
  for (size_t i = v.size(); i > 1; i--) std::swap(v[i - 1], v[random() % i]);
  return v;
}

// --------------------------------------------------------------------------------------------- comparison

template <class Inputs>
struct Variant {
  const char* name;
  /** true: must pass. false: lower precision, or wrong. */
  bool correct;
  /** Fills the outputs, one after the other in order of the task's limits. */
  std::function<void(const Inputs&, Values&)> run;
  /** The only output to compare (place among the limits), for versions that err in one of several; -1 = all. */
  int output = -1;
};

struct Comparison {
  double c = 0;     // smallest constant with which every element passes
  double rms = 0;   // of error over limit, at the task's constant
  long bad = 0;     // elements beyond the task's limit
  long broken = 0;  // not finite where the reference is, or bits that differ where they must not
};

inline bool differs(float got, double want, bool signedZeros) {
  return !(double(got) == want) || (signedZeros && got == 0 && std::signbit(got) != std::signbit(want));
}

template <class T, class = void>
struct SignedZeros : std::false_type {};
template <class T>
struct SignedZeros<T, std::void_t<decltype(T::signedZeros)>> : std::bool_constant<T::signedZeros> {};

template <class T, class = void>
struct HasAll : std::false_type {};
template <class T>
struct HasAll<T, std::void_t<decltype(&T::all)>> : std::true_type {};

/** Whether at() and all() mean the same: they may sum in different orders, in double. */
inline bool agree(const cm::Ref& a, const cm::Ref& b) {
  const double scale = std::fabs(a.value) + a.scale * std::sqrt(a.n);
  return std::fabs(a.value - b.value) <= 1e-12 * scale && std::fabs(a.scale - b.scale) <= 1e-9 * a.scale && a.n == b.n;
}

template <class Reference>
void references(const Reference& reference, int output, int64_t begin, int64_t end, cm::Ref* out) {
  if constexpr (HasAll<Reference>::value) {
    reference.all(output, begin, end - begin, out + begin);
    for (const int64_t i : {begin, begin + (end - begin) / 2, end - 1})
      if (!agree(reference.at(output, i), out[i])) cm::usage("at() and all() differ at element " + std::to_string(i));
  } else {
    for (int64_t i = begin; i < end; i++) out[i] = reference.at(output, i);
  }
}

inline Comparison compare(const float* y, const std::vector<cm::Ref>& refs, const cm::LimitSpec& limit, cm::Storage elem) {
  Comparison out;
  double squares = 0;
  for (size_t i = 0; i < refs.size(); i++) {
    const float got = elem == cm::Storage::bf16 ? toBf16(y[i]) : y[i];
    const cm::Ref& r = refs[i];
    if (limit.uOut == 0) {
      out.broken += differs(got, r.value, SignedZeros<task::Reference>::value);
      continue;
    }
    const double diff = std::fabs(double(got) - r.value);
    if (!std::isfinite(got)) {
      out.broken++;
      continue;
    }
    const double unit = limit.uAcc * std::sqrt(r.n) * r.scale, free = limit.uOut * std::fabs(r.value);
    const double bound = free + limit.c * unit;
    if (diff > free) out.c = std::max(out.c, unit > 0 ? (diff - free) / unit : INFINITY);
    if (!(diff <= bound)) out.bad++;
    if (diff > 0) squares += bound > 0 ? (diff / bound) * (diff / bound) : INFINITY;
  }
  out.rms = refs.empty() ? 0 : std::sqrt(squares / double(refs.size()));
  return out;
}

inline void print(const std::string& id, const std::string& output, const char* variant, bool correct, const Comparison& k, double rmsLimit) {
  const bool fails = k.bad > 0 || k.broken > 0 || !(k.rms <= rmsLimit);
  auto number = [](double v) { return std::isfinite(v) ? std::to_string(v) : std::string("null"); };
  char c[40];
  std::snprintf(c, sizeof c, "%.6g", k.c);
  std::printf("{\"problem\":\"%s\",\"output\":\"%s\",\"variant\":\"%s\",\"correct\":%s,\"c\":%s,\"rms\":%s,\"bad\":%ld,\"broken\":%ld,\"fails\":%s}\n",
              id.c_str(), output.c_str(), variant, correct ? "true" : "false", std::isfinite(k.c) ? c : "null", number(k.rms).c_str(), k.bad,
              k.broken, fails ? "true" : "false");
}

/** Storage of the real-valued inputs: f32 or bf16. */
inline cm::Storage inputStorage(const cm::ProblemSpec& spec) {
  for (const cm::BufferSpec& b : spec.buffers)
    if (b.generated() && b.elem != cm::Storage::i32) return b.elem;
  return cm::Storage::f32;
}

template <class Inputs>
void measureProblem(const std::string& id, uint64_t seed, const std::vector<std::string>& lines,
                    const std::function<std::vector<Variant<Inputs>>(cm::Storage)>& variantsOf) {
  const cm::ProblemSpec spec = cm::parseProblem(lines);
  const cm::Problem problem(spec, seed);
  const task::Reference reference(problem);
  std::vector<std::vector<cm::Ref>> refs;  // of each limited output
  size_t total = 0;
  for (const cm::LimitSpec& limit : spec.limits) {
    int output = 0;  // place among the outputs
    for (int b = 0; b < limit.buffer; b++) output += spec.buffers[size_t(b)].output();
    std::vector<cm::Ref> list(size_t(spec.buffers[size_t(limit.buffer)].count));
    cm::parallelFor(int64_t(list.size()), [&](int64_t begin, int64_t end) { references(reference, output, begin, end, list.data()); });
    total += list.size();
    refs.push_back(std::move(list));
  }
  const Inputs inputs(problem, seed);
  const auto variants = variantsOf(inputStorage(spec));
  std::vector<std::vector<Comparison>> results(variants.size());
  cm::parallelChunks(int64_t(variants.size()), 1, [&](int64_t k, int64_t, int64_t) {
    Values y(total, 0.0f);
    variants[size_t(k)].run(inputs, y);
    const float* at = y.data();
    for (size_t o = 0; o < refs.size(); at += refs[o++].size())
      results[size_t(k)].push_back(compare(at, refs[o], spec.limits[o], spec.buffers[size_t(spec.limits[o].buffer)].elem));
  });
  for (size_t k = 0; k < variants.size(); k++)
    for (size_t o = 0; o < refs.size(); o++)
      if (variants[k].output < 0 || variants[k].output == int(o))
        print(id, spec.buffers[size_t(spec.limits[o].buffer)].name, variants[k].name, variants[k].correct, results[k][o], spec.limits[o].rms);
}

/** Blocks on stdin: `id seed`, the lines of a problem request, `end`. */
template <class Inputs>
int program(const std::function<std::vector<Variant<Inputs>>(cm::Storage)>& variantsOf) {
  std::string id, seed, line;
  while (std::cin >> id >> seed) {
    std::vector<std::string> lines;
    std::getline(std::cin, line);
    while (std::getline(std::cin, line) && line != "end") lines.push_back(line);
    measureProblem<Inputs>(id, cm::parseSeed(seed), lines, variantsOf);
  }
  return 0;
}

}  // namespace measure
