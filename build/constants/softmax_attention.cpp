// Versions of softmax_attention for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t)
      : q(cm::floats(p.in("Q"))), k(cm::floats(p.in("K"))), v(cm::floats(p.in("V"))), rows(size_t(p.dim("q_seq_len"))),
        keys(size_t(p.dim("kv_seq_len"))), dqk(size_t(p.dim("dim_qk"))), dv(size_t(p.dim("dim_v"))) {}
  Values q, k, v;
  size_t rows, keys, dqk, dv;
};

constexpr float kLog2e = 1.44269504f;

/** ex2.approx.ftz of the GPU: relative error up to 2^-22.5 (PTX manual), here with a pseudo-random sign and size. */
float fastExp2(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  const float e = float(double(std::exp2(v)) * (1 + 0x1p-22 * 0.7071 * (2 * double(cm::mix64(b) >> 11) * 0x1p-53 - 1)));
  return std::fabs(e) < 0x1p-126f ? 0.0f : e;
}

/** Dot product of n elements, those of b `stride` apart. */
using Dot = float (*)(const float* a, const float* b, size_t n, size_t stride);

template <Rounding F = toFloat, Rounding R = toFloat>
float inOrder(const float* a, const float* b, size_t n, size_t stride) {
  float s = 0;
  for (size_t j = 0; j < n; j++) s = R(s + F(a[j]) * F(b[j * stride]));
  return s;
}
template <Rounding F = toFloat, Rounding R = toFloat>
float lanes(const float* a, const float* b, size_t n, size_t stride) {
  float s[32] = {};
  for (size_t j = 0; j < n; j++) s[j % 32] = R(s[j % 32] + F(a[j]) * F(b[j * stride]));
  return tree<R>(s, 32);
}
/** K exact products a step, then cut off, as tensor cores do; TF32 in three parts if SPLIT. */
template <bool SPLIT>
float tensor(const float* a, const float* b, size_t n, size_t stride) {
  const auto cut = [](double v) {
    const float f = float(v);
    return std::fabs(double(f)) > std::fabs(v) ? std::nextafter(f, 0.0f) : f;
  };
  const size_t step = SPLIT ? 8 : 16;
  float s = 0;
  for (size_t k = 0; k < n; k += step) {
    double low = s, high = 0;
    for (size_t j = k; j < std::min(n, k + step); j++) {
      const float x = a[j], y = b[j * stride], xh = SPLIT ? toTf32(x) : x, yh = SPLIT ? toTf32(y) : y;
      low += double(xh) * double(toTf32(y - yh)) + double(toTf32(x - xh)) * double(yh);
      high += double(xh) * double(yh);
    }
    s = cut(cut(low) + high);
  }
  return s;
}

using Exponential = float (*)(float s, float maximum);
float plainExp(float s, float m) { return std::exp(s - m); }
float fusedFastExp(float s, float m) { return fastExp2(std::fmaf(s, kLog2e, -(m * kLog2e))); }
float noMaximum(float s, float) { return std::exp(s); }

/**
 * Scores by QK (times the factor before or after), rounded by S; exponentials by E, weights (after division) rounded by W if
 * NORMALISED first, else exponentials rounded by W and the result divided; sums of weights by 32 threads.
 */
template <Dot QK, Exponential E, Dot PV, Rounding S = toFloat, Rounding W = toFloat, bool NORMALISED = true, Rounding Out = toFloat>
void attention(const Inputs& in, Values& y) {
  const float scale = 1 / std::sqrt(float(in.dqk));
  Values s(in.keys);
  for (size_t i = 0; i < in.rows; i++) {
    float m = -INFINITY;
    for (size_t j = 0; j < in.keys; j++) {
      s[j] = S(QK(&in.q[i * in.dqk], &in.k[j * in.dqk], in.dqk, 1) * scale);
      m = std::fmax(m, s[j]);
    }
    for (float& v : s) v = E(v, m);
    const float sum = tree(strided(in.keys, 32, [&](size_t j) { return s[j]; }));
    for (float& v : s) v = W(NORMALISED ? v / sum : v);
    for (size_t c = 0; c < in.dv; c++) {
      const float r = PV(s.data(), &in.v[c], in.keys, in.dv);
      y[i * in.dv + c] = Out(NORMALISED ? r : r * (1 / sum));
    }
  }
}

/** Blocks of 16 keys with running maximum and sum (flash attention); exponentials rounded by W as factors. */
template <Dot QK, Rounding W = toFloat>
void online(const Inputs& in, Values& y) {
  const float scale = 1 / std::sqrt(float(in.dqk));
  for (size_t i = 0; i < in.rows; i++) {
    float m = -INFINITY, sum = 0;
    Values acc(in.dv, 0.0f), s(16);
    for (size_t j0 = 0; j0 < in.keys; j0 += 16) {
      const size_t n = std::min<size_t>(16, in.keys - j0);
      float top = m;
      for (size_t j = 0; j < n; j++) {
        s[j] = QK(&in.q[i * in.dqk], &in.k[(j0 + j) * in.dqk], in.dqk, 1) * scale;
        top = std::fmax(top, s[j]);
      }
      const float keep = m == -INFINITY ? 0.0f : std::exp(m - top);
      sum *= keep, m = top;
      for (size_t j = 0; j < n; j++) sum += s[j] = fastExp2((s[j] - m) * kLog2e);
      for (size_t c = 0; c < in.dv; c++) {
        acc[c] *= keep;
        for (size_t j = 0; j < n; j++) acc[c] = std::fmaf(W(s[j]), in.v[(j0 + j) * in.dv + c], acc[c]);
      }
    }
    for (size_t c = 0; c < in.dv; c++) y[i * in.dv + c] = acc[c] / sum;
  }
}

void exact(const Inputs& in, Values& y) {
  std::vector<double> s(in.keys);
  for (size_t i = 0; i < in.rows; i++) {
    double m = -INFINITY, sum = 0;
    for (size_t j = 0; j < in.keys; j++) {
      double t = 0;
      for (size_t d = 0; d < in.dqk; d++) t += double(in.q[i * in.dqk + d]) * double(in.k[j * in.dqk + d]);
      s[j] = t / std::sqrt(double(in.dqk));
      m = std::max(m, s[j]);
    }
    for (double& v : s) sum += v = std::exp(v - m);
    for (size_t c = 0; c < in.dv; c++) {
      double t = 0;
      for (size_t j = 0; j < in.keys; j++) t += s[j] * double(in.v[j * in.dv + c]);
      y[i * in.dv + c] = float(t / sum);
    }
  }
}

void meanOfV(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) {
    float s = 0;
    for (size_t j = 0; j < in.keys; j++) s += in.v[j * in.dv + i % in.dv];
    y[i] = s / float(in.keys);
  }
}
void unscaled(const Inputs& in, Values& y) {
  Inputs other = in;
  for (float& v : other.q) v *= std::sqrt(float(in.dqk));
  exact(other, y);
}
void withoutLastKey(const Inputs& in, Values& y) {
  Inputs other = in;
  if (in.keys > 1) other.keys--;
  exact(other, y);
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  const bool bf16 = elem == cm::Storage::bf16;
  std::vector<Variant<Inputs>> list = {
      {"exact, rounded once", true, exact},
      {"origin: in order", true, attention<inOrder<>, plainExp, inOrder<>>},
      {"32 accumulators", true, attention<lanes<>, plainExp, lanes<>>},
      {"fast-math, divided at the end", true, attention<lanes<>, fusedFastExp, lanes<>, toFloat, toFloat, false>},
      {"online softmax, fast-math", true, online<lanes<>>},
      {"weights rounded to bf16", bf16, attention<lanes<>, plainExp, lanes<>, toFloat, toBf16>},
      {"exponentials rounded to bf16 as factors", bf16, attention<lanes<>, plainExp, lanes<>, toFloat, toBf16, false>},
      {"online softmax, exponentials rounded to bf16 as factors", bf16, online<lanes<>, toBf16>},
      {"scores rounded to bf16", false, attention<lanes<>, plainExp, lanes<>, toBf16>},
      {"scores summed in bf16", false, attention<lanes<toFloat, toBf16>, plainExp, lanes<>>},
      {"results summed in bf16", false, attention<lanes<>, plainExp, lanes<toFloat, toBf16>>},
      {"results summed in fp16", false, attention<lanes<>, plainExp, inOrder<toFloat, toHalf>>},
      {"maximum not subtracted", false, attention<lanes<>, noMaximum, lanes<>>},
      {"scores not scaled", false, unscaled},
      {"last key ignored", false, withoutLastKey},
      {"mean of V", false, meanOfV},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (bf16) {
    list.push_back({"bf16 tensor cores, online", true, online<tensor<false>, toBf16>});
    list.push_back({"published roundings", false, attention<inOrder<>, plainExp, inOrder<>, toBf16, toBf16>});
    list.push_back({"result truncated to bf16", false, attention<lanes<>, plainExp, lanes<>, toFloat, toFloat, true, truncateBf16>});
  } else {
    list.push_back({"three TF32 products on tensor cores", true, attention<tensor<true>, plainExp, tensor<true>>});
    list.push_back({"scores of TF32 factors", false, attention<lanes<toTf32>, plainExp, lanes<>>});
    list.push_back({"results of TF32 factors", false, attention<lanes<>, plainExp, lanes<toTf32>>});
    list.push_back({"scores rounded to TF32", false, attention<lanes<>, plainExp, lanes<>, toTf32>});
    list.push_back({"weights rounded to TF32", false, attention<lanes<>, plainExp, lanes<>, toFloat, toTf32>});
    list.push_back({"weights rounded to fp16", false, attention<lanes<>, plainExp, lanes<>, toFloat, toHalf>});
    list.push_back({"result rounded to TF32", false, attention<lanes<>, plainExp, lanes<>, toFloat, toFloat, true, toTf32>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
