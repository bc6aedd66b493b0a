// Versions of triangle_attention for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t)
      : q(cm::floats(p.in("query"))), k(cm::floats(p.in("key"))), v(cm::floats(p.in("value"))), mask(cm::floats(p.in("attention_mask"))),
        heads(p.dim("head_num")), length(p.dim("seq_length")), dim(p.dim("head_dim")) {}
  Values q, k, v, mask;
  int64_t heads, length, dim;
};

constexpr float kLog2e = 1.44269504f;

/** ex2.approx.ftz of the GPU: relative error up to 2^-22.5 (PTX manual), here with a pseudo-random sign and size. */
float fastExp2(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  const float e = float(double(std::exp2(v)) * (1 + 0x1p-22 * 0.7071 * (2 * double(cm::mix64(b) >> 11) * 0x1p-53 - 1)));
  return std::fabs(e) < 0x1p-126f ? 0.0f : e;
}

/** One result from its q, and the keys and values of the positions that count. */
using Result = float (*)(float q, const Values& k, const Values& v, float root);

float maximumOf(const Values& s) {
  float m = -INFINITY;
  for (const float x : s) m = std::fmax(m, x);
  return m;
}

/** Three passes; S rounds scores, E exponentials, R sums. */
template <Rounding S = toFloat, Rounding E = toFloat, Rounding R = toFloat, bool MAXIMUM = true>
float passes(float q, const Values& k, const Values& v, float root) {
  Values s(k.size());
  for (size_t j = 0; j < s.size(); j++) s[j] = S(q * k[j] / root);
  const float m = MAXIMUM ? maximumOf(s) : 0.0f;
  float sum = 0, result = 0;
  for (float& x : s) sum = R(sum + (x = E(std::exp(x - m))));
  for (size_t j = 0; j < s.size(); j++) result = R(result + s[j] / sum * v[j]);
  return result;
}
/** 32 lanes a result, divided at the end, fast-math. */
float fastLanes(float q, const Values& k, const Values& v, float root) {
  Values s(k.size());
  const float scale = q * (1 / root) * kLog2e;
  for (size_t j = 0; j < s.size(); j++) s[j] = scale * k[j];
  const float m = maximumOf(s);
  float sums[32] = {}, products[32] = {};
  for (size_t j = 0; j < s.size(); j++) {
    const float e = fastExp2(s[j] - m);
    sums[j % 32] += e;
    products[j % 32] = std::fmaf(e, v[j], products[j % 32]);
  }
  return tree(products, 32) / tree(sums, 32);
}
float online(float q, const Values& k, const Values& v, float root) {
  float m = -INFINITY, sum = 0, result = 0;
  const float scaled = q / root;
  for (size_t j = 0; j < k.size(); j++) {
    const float s = scaled * k[j], top = std::fmax(m, s), keep = m == -INFINITY ? 0.0f : std::exp(m - top), e = std::exp(s - top);
    sum = std::fmaf(sum, keep, e);
    result = std::fmaf(result, keep, e * v[j]);
    m = top;
  }
  return result / sum;
}
/** root^2 is head_dim, a whole number. */
float exact(float q, const Values& k, const Values& v, float root) {
  const double exactRoot = std::sqrt(std::rint(double(root) * double(root)));
  double m = -INFINITY, sum = 0, result = 0;
  for (const float x : k) m = std::max(m, double(q) * double(x) / exactRoot);
  for (size_t j = 0; j < k.size(); j++) {
    const double e = std::exp(double(q) * double(k[j]) / exactRoot - m);
    sum += e;
    result += e * double(v[j]);
  }
  return float(result / sum);
}
float meanOfV(float, const Values& k, const Values& v, float) {
  float s = 0;
  for (size_t j = 0; j < k.size(); j++) s += v[j];
  return s / float(k.size());
}
template <Rounding R>
float rounded(float q, const Values& k, const Values& v, float root) { return R(passes(q, k, v, root)); }
float unscaled(float q, const Values& k, const Values& v, float) { return passes(q, k, v, 1.0f); }

/** Which positions count. */
using Counts = bool (*)(float mask, int64_t i, int64_t j);
bool byMask(float mask, int64_t i, int64_t j) { return j <= i && !(mask > 0.5f); }
bool causalOnly(float, int64_t i, int64_t j) { return j <= i; }
bool maskOnly(float mask, int64_t, int64_t) { return !(mask > 0.5f); }
bool halfMasks(float mask, int64_t i, int64_t j) { return j <= i && mask < 0.5f; }
bool anyMasks(float mask, int64_t i, int64_t j) { return j <= i && mask < 1; }
bool withoutItself(float mask, int64_t i, int64_t j) { return (j < i || i == 0) && !(mask > 0.5f); }

/** firstBatch: the mask of batch 0 for all. */
template <Result F, Counts C = byMask, bool FIRST_BATCH = false>
void attention(const Inputs& in, Values& y) {
  const float root = std::sqrt(float(in.dim));
  Values k, v;
  for (int64_t index = 0; index < int64_t(y.size()); index++) {
    const int64_t i = index / in.dim % in.length, batch = FIRST_BATCH ? 0 : index / in.dim / in.length / in.heads;
    k.clear(), v.clear();
    for (int64_t j = 0; j < in.length; j++)
      if (C(in.mask[size_t((batch * in.length + i) * in.length + j)], i, j)) {
        k.push_back(in.k[size_t(index - (i - j) * in.dim)]);
        v.push_back(in.v[size_t(index - (i - j) * in.dim)]);
      }
    y[size_t(index)] = k.empty() ? 0.0f : F(in.q[size_t(index)], k, v, root);
  }
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"exact, rounded once", true, attention<exact>},
      {"origin: three passes", true, attention<passes<>>},
      {"32 lanes, fast-math, divided at the end", true, attention<fastLanes>},
      {"online", true, attention<online>},
      {"scores rounded to bf16", false, attention<passes<toBf16>>},
      {"exponentials rounded to bf16", false, attention<passes<toFloat, toBf16>>},
      {"exponentials rounded to fp16", false, attention<passes<toFloat, toHalf>>},
      {"sums in bf16", false, attention<passes<toFloat, toFloat, toBf16>>},
      {"sums in fp16", false, attention<passes<toFloat, toFloat, toHalf>>},
      {"maximum not subtracted", false, attention<passes<toFloat, toFloat, toFloat, false>>},
      {"scores not scaled", false, attention<unscaled>},
      {"mean of the values that count", false, attention<meanOfV>},
      {"mask ignored", false, attention<passes<>, causalOnly>},
      {"not causal", false, attention<passes<>, maskOnly>},
      {"a mask of one half masks", false, attention<passes<>, halfMasks>},
      {"only a mask of 1 masks", false, attention<passes<>, anyMasks>},
      {"own position left out", false, attention<passes<>, withoutItself>},
      {"mask of the first batch for all", false, attention<passes<>, byMask, true>},
      {"masked rows not written", false, [](const Inputs& in, Values& y) {
         attention<passes<>>(in, y);
         for (size_t i = 0; i < y.size(); i++)
           if (y[i] == 0) y[i] = NAN;
       }},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, attention<rounded<truncateBf16>>});
  } else {
    list.push_back({"scores rounded to TF32", false, attention<passes<toTf32>>});
    list.push_back({"exponentials rounded to TF32", false, attention<passes<toFloat, toTf32>>});
    list.push_back({"result rounded to TF32", false, attention<rounded<toTf32>>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
