// Error constants of normalisations: statistics in the ways that correct and wrong versions form them, and the last step.
#pragma once

#include "elementwise.h"

namespace measure {

struct Statistics {
  float mean, inverse;
};
using FormStatistics = Statistics (*)(const Values& x, float epsilon);
using LastStep = float (*)(float x, Statistics s, float weight, float bias);
using Order = float (*)(const Values&);

// ------------------------------------------------------------------------------------------ orders of a sum

inline float inOrder(const Values& v) { return sequential(v); }
inline float byThreads(const Values& v) { return tree(strided(v.size(), 256, [&](size_t i) { return v[i]; })); }
/** Up to 1024 partial sums, added by atomics in an order that nobody knows. */
inline float byAtomics(const Values& v) {
  return sequential(shuffled(strided(v.size(), 1024, [&](size_t i) { return v[i]; }), 7));
}
template <Rounding R>
float inFormat(const Values& v) { return tree<R>(strided<R>(v.size(), 256, [&](size_t i) { return v[i]; })); }
/** The last element left out. */
inline float withoutLast(const Values& v) { return byThreads(Values(v.begin(), v.end() - 1)); }

template <class F>
Values mapped(const Values& x, F f) {
  Values out(x.size());
  for (size_t i = 0; i < x.size(); i++) out[i] = f(x[i]);
  return out;
}
inline Values squares(const Values& x, float shift) {
  return mapped(x, [shift](float v) { return (v - shift) * (v - shift); });
}

// ---------------------------------------------------------------------------------------- inverse deviation

inline float byRoot(float variance, float epsilon) { return 1.0f / std::sqrt(variance + epsilon); }
inline float byRsqrt(float variance, float epsilon) { return approximateRsqrt(variance + epsilon); }
inline float epsilonOutside(float variance, float epsilon) { return 1.0f / (std::sqrt(variance) + epsilon); }
inline float epsilonMissing(float variance, float) { return 1.0f / std::sqrt(variance); }
inline float epsilonFixed(float variance, float) { return 1.0f / std::sqrt(variance + 1e-5f); }
using Inverse = float (*)(float, float);

// ---------------------------------------------------------------------------------------- mean and variance

template <Order S, Inverse I = byRoot>
Statistics twoPass(const Values& x, float epsilon) {
  const float n = float(x.size()), mean = S(x) / n;
  return {mean, I(S(squares(x, mean)) / n, epsilon)};
}
template <Order S>
Statistics onePass(const Values& x, float epsilon) {
  const float n = float(x.size()), mean = S(x) / n;
  return {mean, byRoot(std::fmax(S(squares(x, 0)) / n - mean * mean, 0.0f), epsilon)};
}
/** One pass over the differences to the first element. */
template <Order S>
Statistics shiftedOnePass(const Values& x, float epsilon) {
  const float n = float(x.size()), first = x[0];
  const float mean = S(mapped(x, [first](float v) { return v - first; })) / n;
  return {first + mean, byRoot(std::fmax(S(squares(x, first)) / n - mean * mean, 0.0f), epsilon)};
}

struct Running {
  float n = 0, mean = 0, squares = 0;
};
inline Running merged(Running a, Running b) {
  if (a.n == 0) return b;
  if (b.n == 0) return a;
  const float n = a.n + b.n, delta = b.mean - a.mean;
  return {n, a.mean + delta * (b.n / n), a.squares + b.squares + delta * delta * (a.n * b.n / n)};
}
/** Welford's updates in `threads` threads, merged by a tree. */
template <int THREADS>
Statistics welford(const Values& x, float epsilon) {
  std::vector<Running> part(std::min<size_t>(THREADS, x.size()));
  for (size_t i = 0; i < x.size(); i++) {
    Running& p = part[i % part.size()];
    p.n += 1;
    const float delta = x[i] - p.mean;
    p.mean += delta / p.n;
    p.squares += delta * (x[i] - p.mean);
  }
  for (size_t n = part.size(); n > 1; n = (n + 1) / 2)
    for (size_t i = 0; i < n / 2; i++) part[i] = merged(part[i], part[n - 1 - i]);
  return {part[0].mean, byRoot(part[0].squares / part[0].n, epsilon)};
}
inline Statistics unbiased(const Values& x, float epsilon) {
  const float n = float(x.size()), mean = byThreads(x) / n;
  return {mean, byRoot(byThreads(squares(x, mean)) / (n - 1), epsilon)};
}

/** Root mean square: no mean. */
template <Order S, Inverse I = byRoot>
Statistics meanSquare(const Values& x, float epsilon) {
  return {0, I(S(squares(x, 0)) / float(x.size()), epsilon)};
}

// -------------------------------------------------------------------------------------------------- last step

inline float centred(float x, Statistics s, float w, float b) { return w * ((x - s.mean) * s.inverse) + b; }
inline float centredFused(float x, Statistics s, float w, float b) { return std::fmaf((x - s.mean) * s.inverse, w, b); }
/** Scale and shift computed once, one fused step per element. */
inline float folded(float x, Statistics s, float w, float b) {
  const float scale = w * s.inverse;
  return std::fmaf(x, scale, b - s.mean * scale);
}
inline float weightMissing(float x, Statistics s, float, float b) { return (x - s.mean) * s.inverse + b; }
inline float biasMissing(float x, Statistics s, float w, float) { return w * ((x - s.mean) * s.inverse); }
inline float meanKept(float x, Statistics s, float w, float b) { return w * (x * s.inverse) + b; }
template <Rounding R>
float normalizedIn(float x, Statistics s, float w, float b) { return w * R((x - s.mean) * s.inverse) + b; }
template <Rounding R>
float productIn(float x, Statistics s, float w, float b) { return R(w * ((x - s.mean) * s.inverse)) + b; }

// ------------------------------------------------------------------------------------------------------ inputs

/** Groups of elements with common statistics: element k of group g at g + k * groups (a column), weight per group or element. */
struct Groups {
  Values x, weight, bias;
  size_t groups = 1;
  /** Weight and bias belong to the group (batch norm), not to the element. */
  bool perGroup = false;
  float epsilon = 0;

  size_t size() const { return x.size() / groups; }
};

struct Vector : Groups {
  Vector(const cm::Problem& p, uint64_t) {
    x = cm::floats(p.in("input"));
    weight = cm::floats(p.in("weight"));
    bias = cm::floats(p.in("bias"));
    epsilon = realScalars(p).at(0);
  }
};

template <class Inputs, FormStatistics S, LastStep L, Rounding In = toFloat, Rounding Out = toFloat>
void normalize(const Inputs& in, Values& y) {
  Values x(in.size());
  for (size_t g = 0; g < in.groups; g++) {
    for (size_t k = 0; k < x.size(); k++) x[k] = In(in.x[g + k * in.groups]);
    const Statistics s = S(x, in.epsilon);
    for (size_t k = 0; k < x.size(); k++) {
      const size_t i = g + k * in.groups, w = in.perGroup ? g : i;
      y[i] = Out(L(x[k], s, in.weight[w], in.bias[w]));
    }
  }
}

/** Wrong ways that every normalisation must tell from a right one S. */
template <class Inputs, FormStatistics S>
void addWrongSteps(std::vector<Variant<Inputs>>& list, cm::Storage elem) {
  list.push_back({"zeros", false, [](const Inputs&, Values&) {}});
  list.push_back({"last element missing", false, [](const Inputs& in, Values& y) {
                    normalize<Inputs, S, centred>(in, y);
                    y.back() = NAN;
                  }});
  list.push_back({"weight missing", false, normalize<Inputs, S, weightMissing>});
  list.push_back({"bias missing", false, normalize<Inputs, S, biasMissing>});
  list.push_back({"product rounded to bf16", false, normalize<Inputs, S, productIn<toBf16>>});
  list.push_back({"normalised value rounded to bf16", false, normalize<Inputs, S, normalizedIn<toBf16>>});
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, normalize<Inputs, S, centred, toFloat, truncateBf16>});
  } else {
    list.push_back({"normalised value rounded to fp16", false, normalize<Inputs, S, normalizedIn<toHalf>>});
    list.push_back({"input rounded to fp16", false, normalize<Inputs, S, centred, toHalf>});
    list.push_back({"input rounded to TF32", false, normalize<Inputs, S, centred, toTf32>});
    list.push_back({"result rounded to fp16", false, normalize<Inputs, S, centred, toFloat, toHalf>});
  }
}

/** Versions of a normalisation with mean and variance. */
template <class Inputs>
std::vector<Variant<Inputs>> meanAndVariance(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"two passes, 256 threads, rsqrt.approx, fused", true, normalize<Inputs, twoPass<byThreads, byRsqrt>, centredFused>},
      {"two passes, atomics", true, normalize<Inputs, twoPass<byAtomics>, centred>},
      {"two passes, folded into scale and shift", true, normalize<Inputs, twoPass<byThreads>, folded>},
      {"Welford, 256 threads", true, normalize<Inputs, welford<256>, centredFused>},
      {"one pass shifted by the first element", true, normalize<Inputs, shiftedOnePass<byThreads>, centred>},
      {"variance divided by N - 1", false, normalize<Inputs, unbiased, centred>},
      {"epsilon outside the root", false, normalize<Inputs, twoPass<byThreads, epsilonOutside>, centred>},
      {"epsilon missing", false, normalize<Inputs, twoPass<byThreads, epsilonMissing>, centred>},
      {"epsilon fixed at 1e-5", false, normalize<Inputs, twoPass<byThreads, epsilonFixed>, centred>},
      {"mean not subtracted", false, normalize<Inputs, twoPass<byThreads>, meanKept>},
      {"sums in fp16", false, normalize<Inputs, twoPass<inFormat<toHalf>>, centred>},
      {"sums in bf16", false, normalize<Inputs, twoPass<inFormat<toBf16>>, centred>},
      {"last element missing in the sums", false, normalize<Inputs, twoPass<withoutLast>, centred>},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"E[x^2] - mean^2, 256 threads", false, normalize<Inputs, onePass<byThreads>, centred>});
  }
  addWrongSteps<Inputs, twoPass<byThreads>>(list, elem);
  return list;
}

}  // namespace measure
