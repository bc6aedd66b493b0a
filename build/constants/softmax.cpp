// Versions of softmax for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s) : x(cm::floats(p.in("input"))), rows(p.dim("N")), columns(p.dim("C")), seed(s) {}
  Values x;
  int64_t rows, columns;
  uint64_t seed;
};

constexpr float kLog2e = 1.44269504f;

/** ex2.approx.ftz of the GPU: relative error up to 2^-22.5 (PTX manual), here with a pseudo-random sign and size. */
float approximateExp2(float v) {
  const float exact = std::exp2(v);
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  const double error = 0x1p-22 * 0.7071 * (2 * double(cm::mix64(b) >> 11) * 0x1p-53 - 1);
  const float approximate = float(double(exact) * (1 + error));
  return std::fabs(approximate) < 0x1p-126f ? 0.0f : approximate;
}

float maximumOf(const float* x, int64_t n) {
  float m = x[0];
  for (int64_t i = 1; i < n; i++) m = std::fmax(m, x[i]);
  return m;
}

/** How a version differs: exponential of (x, maximum), sum of a row's exponentials, quotient. */
using Exponential = float (*)(float, float);
using RowSum = float (*)(const Values&);
using Quotient = float (*)(float, float);

float plainExp(float x, float m) { return std::exp(x - m); }
/** x log2 e - m log2 e in one fused step, as attention kernels do. */
float fusedExp(float x, float m) { return std::exp2(std::fmaf(x, kLog2e, -(m * kLog2e))); }
float fastExp(float x, float m) { return approximateExp2((x - m) * kLog2e); }
float fusedFastExp(float x, float m) { return approximateExp2(std::fmaf(x, kLog2e, -(m * kLog2e))); }
float noMaximum(float x, float) { return std::exp(x); }
template <Rounding R>
float roundedInputs(float x, float m) { return std::exp(R(x) - R(m)); }
template <Rounding R>
float roundedExp(float x, float m) { return R(std::exp(x - m)); }
template <Rounding R>
float roundedDifference(float x, float m) { return std::exp(R(x - m)); }

float inOrder(const Values& e) { return sequential(e); }
float byTree(const Values& e) { return tree(e); }
float byThreads(const Values& e) { return tree(strided(e.size(), 256, [&](size_t i) { return e[i]; })); }
template <Rounding R>
float roundedThreads(const Values& e) { return tree<R>(strided<R>(e.size(), 256, [&](size_t i) { return e[i]; })); }
float withoutLast(const Values& e) { return e.size() > 1 ? tree(e.data(), e.size() - 1) : e[0]; }

float byReciprocal(float e, float s) { return e * (1.0f / s); }
float byDivision(float e, float s) { return e / s; }
/** div.approx: two ulp. */
float byFastDivision(float e, float s) { return e * float(double(1.0f / s) * (1 + 0x1p-23)); }

template <Exponential E, RowSum S, Quotient Q, Rounding Out = toFloat>
void rows(const Inputs& in, Values& y) {
  Values e(size_t(in.columns));
  for (int64_t r = 0; r < in.rows; r++) {
    const float* x = in.x.data() + r * in.columns;
    const float m = maximumOf(x, in.columns);
    for (int64_t c = 0; c < in.columns; c++) e[size_t(c)] = E(x[c], m);
    const float s = S(e);
    for (int64_t c = 0; c < in.columns; c++) y[size_t(r * in.columns + c)] = Out(Q(e[size_t(c)], s));
  }
}

struct Running {
  float m = -INFINITY, s = 0;
};
Running merged(Running a, Running b) {
  if (b.s == 0) return a;
  if (a.s == 0) return b;
  const float m = std::fmax(a.m, b.m);
  return {m, a.s * std::exp(a.m - m) + b.s * std::exp(b.m - m)};
}

/** One pass for maximum and sum, `threads` running pairs a row, merged by a tree. */
template <int THREADS>
void online(const Inputs& in, Values& y) {
  for (int64_t r = 0; r < in.rows; r++) {
    const float* x = in.x.data() + r * in.columns;
    std::vector<Running> part(size_t(std::min<int64_t>(THREADS, in.columns)));
    for (int64_t c = 0; c < in.columns; c++) {
      Running& p = part[size_t(c) % part.size()];
      const float m = std::fmax(p.m, x[c]);
      p.s = p.s * (p.s == 0 ? 0 : std::exp(p.m - m)) + std::exp(x[c] - m);
      p.m = m;
    }
    for (size_t n = part.size(); n > 1; n = (n + 1) / 2)
      for (size_t i = 0; i < n / 2; i++) part[i] = merged(part[i], part[n - 1 - i]);
    for (int64_t c = 0; c < in.columns; c++) y[size_t(r * in.columns + c)] = std::exp(x[c] - part[0].m) * (1.0f / part[0].s);
  }
}

void uniform(const Inputs& in, Values& y) { std::fill(y.begin(), y.end(), 1.0f / float(in.columns)); }

/** Exponential rounded to bf16 only where it is divided, not in the sum: the published bf16 kernel. */
void publishedBf16(const Inputs& in, Values& y) {
  for (int64_t r = 0; r < in.rows; r++) {
    const float* x = in.x.data() + r * in.columns;
    const float m = maximumOf(x, in.columns);
    float s = 0;
    for (int64_t c = 0; c < in.columns; c++) s += std::exp(x[c] - m);
    for (int64_t c = 0; c < in.columns; c++) y[size_t(r * in.columns + c)] = toBf16(std::exp(x[c] - m)) * (1.0f / s);
  }
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin: three passes, one thread a row", true, rows<plainExp, inOrder, byReciprocal>},
      {"sum by tree, division", true, rows<plainExp, byTree, byDivision>},
      {"256 threads a row", true, rows<plainExp, byThreads, byReciprocal>},
      {"online, one thread a row", true, online<1>},
      {"online, 256 threads a row", true, online<256>},
      {"exp2 of a fused argument", true, rows<fusedExp, byThreads, byReciprocal>},
      {"fast-math exponential and division", true, rows<fastExp, byThreads, byFastDivision>},
      {"fast-math, fused argument", true, rows<fusedFastExp, byThreads, byFastDivision>},
      {"exponentials rounded to bf16", false, rows<roundedExp<toBf16>, byThreads, byReciprocal>},
      {"exponentials rounded to fp16", false, rows<roundedExp<toHalf>, byThreads, byReciprocal>},
      {"x - m rounded to bf16", false, rows<roundedDifference<toBf16>, byThreads, byReciprocal>},
      {"sum in bf16", false, rows<plainExp, roundedThreads<toBf16>, byReciprocal>},
      {"sum in fp16", false, rows<plainExp, roundedThreads<toHalf>, byReciprocal>},
      {"published rounding in between (bf16)", false, publishedBf16},
      {"maximum not subtracted", false, rows<noMaximum, byThreads, byReciprocal>},
      {"last column missing in the sum", false, rows<plainExp, withoutLast, byReciprocal>},
      {"1/C everywhere", false, uniform},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, rows<plainExp, byThreads, byReciprocal, truncateBf16>});
  } else {
    list.push_back({"input rounded to fp16", false, rows<roundedInputs<toHalf>, byThreads, byReciprocal>});
    list.push_back({"input rounded to TF32", false, rows<roundedInputs<toTf32>, byThreads, byReciprocal>});
    list.push_back({"x - m rounded to fp16", false, rows<roundedDifference<toHalf>, byThreads, byReciprocal>});
    list.push_back({"result rounded to fp16", false, rows<plainExp, byThreads, byReciprocal, toHalf>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
