// What a task's reference.h sees: inputs as views, dimensions, and the shape of its answer (PROTOCOL.md, "reference.h of a task").
//
//   #include "reference_api.h"
//   namespace task {
//   struct Reference {
//     explicit Reference(const cm::Problem& p);                // p outlives the object
//     cm::Ref at(int output, int64_t i) const;                 // called from several threads at once
//     void all(int output, int64_t first, int64_t count, cm::Ref* out) const;  // optional; at() is used where it is missing
//     static constexpr bool signedZeros = true;                // optional; exact outputs only: +0 and -0 differ
//   };
//   }
#pragma once

#include <cmath>
#include <vector>

#include "parallel.h"
#include "problem.h"

namespace cm {

/** Reference of one element: value, scale M and number of terms n of the limit UOUT*|value| + C*UACC*sqrt(n)*M. */
struct Ref {
  double value = 0;
  double scale = 0;
  double n = 1;
};

/** An input buffer, computed on the fly from its generator: value exactly as stored (rounded to f32, bf16 or i32). */
class View {
 public:
  View() = default;
  View(const BufferSpec& b, uint64_t seed) : gen_(b.gen), key_(streamKey(seed, b.ordinal)), elem_(b.elem), count_(b.count) {}
  double operator[](int64_t i) const { return decode(elem_, raw(i)); }
  /** Integer value; for i32 buffers. */
  int64_t i(int64_t k) const { return int64_t(generate(gen_, key_, k)); }
  /** Generator and key, for references that use the closed form behind the values (rows, ell). */
  const Generator& generator() const { return gen_; }
  uint64_t key() const { return key_; }
  uint32_t raw(int64_t i) const { return generateRaw(gen_, key_, elem_, i); }
  int64_t size() const { return count_; }
  Storage elem() const { return elem_; }

 private:
  Generator gen_;
  uint64_t key_ = 0;
  Storage elem_ = Storage::f32;
  int64_t count_ = 0;
};

/** One problem with one seed. Look names up once (in Reference's constructor), not per element. */
class Problem {
 public:
  Problem(const ProblemSpec& spec, uint64_t seed) : spec_(spec), seed_(seed) {}

  int64_t dim(const char* name) const {
    for (const auto& d : spec_.dims)
      if (d.first == name) return d.second;
    usage(std::string("no dimension named ") + name);
  }

  /** Input (or initial content of an inout buffer). */
  View in(const char* name) const {
    const BufferSpec& b = spec_.buffers[size_t(spec_.bufferIndex(name))];
    if (!b.generated()) usage(std::string("not an input: ") + name);
    return View(b, seed_);
  }

  /** Storage of a buffer, by name: f32 or bf16 where the task says T. */
  Storage elem(const char* name) const { return spec_.buffers[size_t(spec_.bufferIndex(name))].elem; }

  /** Scalar argument number k of the wrapper (counting all parameters), as passed. */
  double scalar(int k) const {
    const ArgSpec& a = spec_.args.at(size_t(k));
    if (a.type == 'i' || a.type == 'l') return double(a.integer);
    if (a.type == 'f') return decode(Storage::f32, encode(Storage::f32, a.real));
    if (a.type == 'h') return decode(Storage::bf16, encode(Storage::bf16, a.real));
    usage("argument " + std::to_string(k) + " is a buffer");
  }

  const ProblemSpec& spec() const { return spec_; }

 private:
  const ProblemSpec& spec_;
  uint64_t seed_;
};

/** Compensated sum (Neumaier): error of the order of one rounding of the result. */
class Sum {
 public:
  void add(double x) {
    const double t = sum_ + x;
    lost_ += std::fabs(sum_) >= std::fabs(x) ? (sum_ - t) + x : (x - t) + sum_;
    sum_ = t;
  }
  double value() const { return sum_ + lost_; }

 private:
  double sum_ = 0, lost_ = 0;
};

/** All values of a view as float (exact for f32 and bf16 buffers), made in parallel. */
inline std::vector<float> floats(const View& v) {
  std::vector<float> out(size_t(v.size()));
  parallelFor(v.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[size_t(i)] = float(v[i]);
  });
  return out;
}

/** All values of an i32 view, made in parallel. */
inline std::vector<int32_t> ints(const View& v) {
  std::vector<int32_t> out(size_t(v.size()));
  parallelFor(v.size(), [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; i++) out[size_t(i)] = int32_t(v.i(i));
  });
  return out;
}

}  // namespace cm
