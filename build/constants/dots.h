// Versions of tasks whose results are sums of products (matrix products, contractions, convolutions): orders that GPUs use, and
// precisions and mistakes that must be caught.
#pragma once

#include "measure.h"

namespace measure {

/** Factors of one result at a time: load(i, a, b) fills those of result i. */
struct Factors {
  int64_t results = 0;
  std::function<void(int64_t, Values&, Values&)> load;
};

/** Sum of one result's terms from its factors. */
using Dot = std::function<float(const Values&, const Values&)>;

inline auto eachResult(Dot dot) {
  return [dot](const Factors& in, Values& y) {
    Values a, b;
    for (int64_t i = 0; i < in.results; i++) {
      in.load(i, a, b);
      y[size_t(i)] = dot(a, b);
    }
  };
}

namespace dots {

template <Rounding F = toFloat, Rounding P = toFloat>
const Values& terms(const Values& a, const Values& b) {
  static thread_local Values t;
  t.resize(a.size());
  for (size_t k = 0; k < a.size(); k++) t[k] = P(F(a[k]) * F(b[k]));
  return t;
}

inline float fused(const Values& a, const Values& b) {
  float s = 0;
  for (size_t k = 0; k < a.size(); k++) s = std::fmaf(a[k], b[k], s);
  return s;
}

/** LANES accumulators that take turns, then a tree: split sums, vector loads, a warp or a block for each result. */
template <size_t LANES, Rounding F = toFloat, Rounding P = toFloat, Rounding R = toFloat>
float lanes(const Values& a, const Values& b) {
  float s[LANES] = {};
  const Values& t = terms<F, P>(a, b);
  for (size_t k = 0; k < t.size(); k++) s[k % LANES] = R(s[k % LANES] + t[k]);
  return tree<R>(s, LANES);
}

template <Rounding F = toFloat, Rounding P = toFloat, Rounding R = toFloat>
float inOrder(const Values& a, const Values& b) { return sequential<R>(terms<F, P>(a, b)); }

/** Pieces of n / 8 terms added up by different blocks, in order. */
inline float splitTerms(const Values& a, const Values& b) {
  const Values& t = terms<>(a, b);
  const size_t piece = std::max<size_t>(1, (t.size() + 7) / 8);
  float sum = 0;
  for (size_t k = 0; k < t.size(); k += piece) {
    float s = 0;
    for (size_t j = k; j < std::min(t.size(), k + piece); j++) s += t[j];
    sum += s;
  }
  return sum;
}

/** Compensated sum of rounded products. */
inline float compensated(const Values& a, const Values& b) {
  float s = 0, lost = 0;
  for (const float t : terms<>(a, b)) {
    const float y = t - lost, next = s + y;
    lost = (next - s) - y;
    s = next;
  }
  return s;
}

/** To float, towards zero. */
inline float towardsZero(double v) {
  const float f = float(v);
  return std::fabs(double(f)) > std::fabs(v) ? std::nextafter(f, 0.0f) : f;
}

/**
 * Tensor cores: K products a step are added exactly to the fp32 accumulator, which is then cut off, not rounded (measured on
 * several generations by Fasi et al., "Numerical behavior of NVIDIA tensor cores", PeerJ CS 2021).
 */
template <size_t K>
void tensorStep(float& s, const float* a, const float* b, size_t n) {
  double sum = s;
  for (size_t j = 0; j < std::min(K, n); j++) sum += double(a[j]) * double(b[j]);
  s = towardsZero(sum);
}

/** bf16 tensor cores, 16 products a step, one accumulator for all of the sum. */
inline float tensorBf16(const Values& a, const Values& b) {
  float s = 0;
  for (size_t k = 0; k < a.size(); k += 16) tensorStep<16>(s, &a[k], &b[k], a.size() - k);
  return s;
}

/** Three TF32 products for one (x = high + low), 8 a step, one accumulator. */
inline float tensorSplitTf32(const Values& a, const Values& b) {
  float s = 0;
  for (size_t k = 0; k < a.size(); k += 8) {
    const size_t n = std::min<size_t>(8, a.size() - k);
    float ah[8], al[8], bh[8], bl[8];
    for (size_t j = 0; j < n; j++) {
      ah[j] = toTf32(a[k + j]), al[j] = toTf32(a[k + j] - ah[j]);
      bh[j] = toTf32(b[k + j]), bl[j] = toTf32(b[k + j] - bh[j]);
    }
    tensorStep<8>(s, ah, bl, n);
    tensorStep<8>(s, al, bh, n);
    tensorStep<8>(s, ah, bh, n);
  }
  return s;
}

/** Two bf16 parts of each factor, three products: 16 of 24 bits. */
inline float splitBf16(const Values& a, const Values& b) {
  Values t(a.size());
  for (size_t k = 0; k < a.size(); k++) {
    const float ah = toBf16(a[k]), al = toBf16(a[k] - ah), bh = toBf16(b[k]), bl = toBf16(b[k] - bh);
    t[k] = ah * bh + (ah * bl + al * bh);
  }
  return tree(t);
}

inline float withoutLast(const Values& a, const Values& b) {
  const Values& t = terms<>(a, b);
  return tree(t.data(), t.size() - 1);
}

template <Rounding R>
float rounded(const Values& a, const Values& b) { return R(lanes<32>(a, b)); }

inline float exactSum(const Values& a, const Values& b) {
  double s = 0;
  for (size_t k = 0; k < a.size(); k++) s += double(a[k]) * double(b[k]);
  return float(s);
}

}  // namespace dots

/** @param elem storage of the inputs. @param tensorCores whether versions on tensor cores, with one accumulator, are to be expected. */
inline std::vector<Variant<Factors>> dotVariants(cm::Storage elem, bool tensorCores = true) {
  using namespace dots;
  std::vector<Variant<Factors>> list = {
      {"exact, rounded once", true, eachResult(exactSum)},
      {"origin: in order", true, eachResult(inOrder<>)},
      {"in order, fused", true, eachResult(fused)},
      {"4 accumulators", true, eachResult(lanes<4>)},
      {"warp a result", true, eachResult(lanes<32>)},
      {"block a result", true, eachResult(lanes<256>)},
      {"sum split over 8 blocks", true, eachResult(splitTerms)},
      {"compensated", true, eachResult(compensated)},
      {"products rounded to bf16", false, eachResult(lanes<32, toFloat, toBf16>)},
      {"products rounded to fp16", false, eachResult(lanes<32, toFloat, toHalf>)},
      {"sums in bf16", false, eachResult(inOrder<toFloat, toFloat, toBf16>)},
      {"sums in fp16", false, eachResult(inOrder<toFloat, toFloat, toHalf>)},
      {"partial sums of 4 in bf16", false, eachResult(lanes<4, toFloat, toFloat, toBf16>)},
      {"partial sums of 32 in fp16", false, eachResult(lanes<32, toFloat, toFloat, toHalf>)},
      {"last term ignored", false, eachResult(withoutLast)},
      {"zeros", false, [](const Factors&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    if (tensorCores) list.push_back({"bf16 tensor cores", true, eachResult(tensorBf16)});
    list.push_back({"result truncated to bf16", false, eachResult(rounded<truncateBf16>)});
  } else {
    if (tensorCores) list.push_back({"three TF32 products on tensor cores", true, eachResult(tensorSplitTf32)});
    list.push_back({"factors rounded to fp16", false, eachResult(lanes<32, toHalf>)});
    list.push_back({"factors rounded to TF32", false, eachResult(lanes<32, toTf32>)});
    list.push_back({"factors of two bf16 parts", false, eachResult(splitBf16)});
    list.push_back({"result rounded to bf16", false, eachResult(rounded<toBf16>)});
    list.push_back({"result rounded to TF32", false, eachResult(rounded<toTf32>)});
  }
  return list;
}

}  // namespace measure
