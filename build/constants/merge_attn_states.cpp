// Versions of merge_attn_states for measuring its error constants.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t)
      : va(cm::floats(p.in("V_a"))), vb(cm::floats(p.in("V_b"))), la(cm::floats(p.in("lse_a"))), lb(cm::floats(p.in("lse_b"))),
        tokens(size_t(p.dim("num_tokens"))), heads(size_t(p.dim("num_heads"))), size(size_t(p.dim("head_size"))) {}
  Values va, vb, la, lb;
  size_t tokens, heads, size;
};

struct Merged {
  float a, b, lse;
};
using Weights = Merged (*)(float la, float lb);
using Mix = float (*)(const Merged&, float va, float vb);

constexpr float kLog2e = 1.44269504f, kLn2 = 0.693147181f;

/** ex2.approx.ftz (relative error up to 2^-22.5) and lg2.approx (absolute error up to 2^-22), with pseudo-random errors. */
float noise(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  return float(2 * double(cm::mix64(b) >> 11) * 0x1p-53 - 1);
}
float fastExp2(float v) {
  const float e = float(double(std::exp2(v)) * (1 + 0x1p-22 * 0.7071 * double(noise(v))));
  return std::fabs(e) < 0x1p-126f ? 0.0f : e;
}
float fastLog2(float v) { return float(double(std::log2(v)) + 0x1p-22 * double(noise(v))); }

Merged plain(float la, float lb) {
  const float m = std::fmax(la, lb), ea = std::exp(la - m), eb = std::exp(lb - m), s = ea + eb;
  return {ea / s, eb / s, m + std::log(s)};
}
Merged reciprocal(float la, float lb) {
  const float m = std::fmax(la, lb), ea = std::exp(la - m), eb = std::exp(lb - m), inverse = 1 / (ea + eb);
  return {ea * inverse, eb * inverse, std::log(ea + eb) + m};
}
/** One exponential: the weights are a logistic function of the difference. */
Merged logistic(float la, float lb) {
  const float e = std::exp(-std::fabs(la - lb)), large = 1 / (1 + e), small = e * large;
  return {la >= lb ? large : small, la >= lb ? small : large, std::fmax(la, lb) + std::log1p(e)};
}
Merged fastMath(float la, float lb) {
  const float m = std::fmax(la, lb), ea = fastExp2((la - m) * kLog2e), eb = fastExp2((lb - m) * kLog2e), s = ea + eb;
  const float inverse = float(double(1 / s) * (1 + 0x1p-23));
  return {ea * inverse, eb * inverse, std::fmaf(fastLog2(s), kLn2, m)};
}
Merged fusedFastMath(float la, float lb) {
  const float m = std::fmax(la, lb);
  const float ea = fastExp2(std::fmaf(la, kLog2e, -(m * kLog2e))), eb = fastExp2(std::fmaf(lb, kLog2e, -(m * kLog2e))), s = ea + eb;
  return {ea / s, eb / s, std::fmaf(fastLog2(s), kLn2, m)};
}
Merged exactly(float la, float lb) {
  const double m = std::fmax(la, lb), ea = std::exp(double(la) - m), eb = std::exp(double(lb) - m);
  return {float(ea / (ea + eb)), float(eb / (ea + eb)), float(m + std::log(ea + eb))};
}
Merged withoutMaximum(float la, float lb) {
  const float ea = std::exp(la), eb = std::exp(lb), s = ea + eb;
  return {ea / s, eb / s, std::log(s)};
}
template <Rounding R>
Merged rounded(float la, float lb) {
  const Merged m = plain(la, lb);
  return {R(m.a), R(m.b), R(m.lse)};
}
template <Rounding R>
Merged roundedDifference(float la, float lb) {
  const float m = std::fmax(la, lb), ea = std::exp(R(la - m)), eb = std::exp(R(lb - m)), s = ea + eb;
  return {ea / s, eb / s, m + std::log(s)};
}
template <Rounding R>
Merged roundedExp(float la, float lb) {
  const float m = std::fmax(la, lb), ea = R(std::exp(la - m)), eb = R(std::exp(lb - m)), s = R(ea + eb);
  return {ea / s, eb / s, m + std::log(s)};
}
Merged mean(float la, float lb) { return {0.5f, 0.5f, std::fmax(la, lb)}; }
Merged swapped(float la, float lb) {
  const Merged m = plain(la, lb);
  return {m.b, m.a, m.lse};
}
Merged largest(float la, float lb) { return {la >= lb ? 1.0f : 0.0f, la >= lb ? 0.0f : 1.0f, std::fmax(la, lb)}; }

float sum(const Merged& w, float a, float b) { return w.a * a + w.b * b; }
float fusedSum(const Merged& w, float a, float b) { return std::fmaf(w.a, a, w.b * b); }
template <Rounding R>
float roundedSum(const Merged& w, float a, float b) { return R(R(w.a * a) + R(w.b * b)); }
template <Rounding R>
float roundedResult(const Merged& w, float a, float b) { return R(w.a * a + w.b * b); }

/** turned: log-sum-exps taken for [token][head]. */
template <Weights W, Mix X = sum, bool TURNED = false>
void merge(const Inputs& in, Values& y) {
  const size_t n = in.va.size();
  for (size_t t = 0; t < in.tokens; t++)
    for (size_t h = 0; h < in.heads; h++) {
      const size_t at = TURNED ? t * in.heads + h : h * in.tokens + t, begin = (t * in.heads + h) * in.size;
      const Merged w = W(in.la[at], in.lb[at]);
      for (size_t d = begin; d < begin + in.size; d++) y[d] = X(w, in.va[d], in.vb[d]);
      y[n + at] = w.lse;
    }
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"exact weights", true, merge<exactly>},
      {"origin", true, merge<plain>},
      {"reciprocal, fused sum", true, merge<reciprocal, fusedSum>},
      {"one exponential, log1p", true, merge<logistic, fusedSum>},
      {"fast-math", true, merge<fastMath, fusedSum>},
      {"fast-math, fused argument", true, merge<fusedFastMath, fusedSum>},
      {"maximum not subtracted", false, merge<withoutMaximum>},
      {"weights and log-sum-exp rounded to fp16", false, merge<rounded<toHalf>>},
      {"differences rounded to bf16", false, merge<roundedDifference<toBf16>>},
      {"exponentials rounded to bf16", false, merge<roundedExp<toBf16>>},
      {"exponentials rounded to fp16", false, merge<roundedExp<toHalf>>},
      {"weights rounded to bf16", false, merge<rounded<toBf16>>, 0},
      {"weights swapped", false, merge<swapped>, 0},
      {"products and sum in bf16", false, merge<plain, roundedSum<toBf16>>, 0},
      {"log-sum-exps read as [token][head]", false, merge<plain, sum, true>, 0},
      {"mean of both sides", false, merge<mean>},
      {"larger side alone", false, merge<largest>},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, merge<plain, roundedResult<truncateBf16>>, 0});
    list.push_back({"log-sum-exp truncated to bf16", false, merge<rounded<truncateBf16>>, 1});
  } else {
    list.push_back({"result rounded to TF32", false, merge<plain, roundedResult<toTf32>>, 0});
    list.push_back({"weights and log-sum-exp rounded to TF32", false, merge<rounded<toTf32>>});
    list.push_back({"exponentials rounded to TF32", false, merge<roundedExp<toTf32>>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
