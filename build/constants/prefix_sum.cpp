// Versions of prefix_sum for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : x(cm::floats(p.in("input"))) {}
  Values x;
};

template <Rounding R = toFloat>
void sequentially(const Inputs& in, Values& y) {
  float s = 0;
  for (size_t i = 0; i < y.size(); i++) y[i] = s = R(s + in.x[i]);
}

/** Inclusive scan of n numbers by doubling distances, as warps do it. */
template <Rounding R>
void doubling(float* v, size_t n) {
  for (size_t d = 1; d < n; d *= 2)
    for (size_t i = n; i-- > d;) v[i] = R(v[i] + v[i - d]);
}

/**
 * Blocks of SIZE, scanned by doubling; each adds what the blocks before it sum up to, carried one after the other (as decoupled
 * look-back does). Inputs rounded by F, numbers within blocks by R, carries by C.
 */
template <int SIZE, Rounding F = toFloat, Rounding R = toFloat, Rounding C = toFloat>
void blocks(const Inputs& in, Values& y) {
  float carry = 0;
  for (size_t b = 0; b < y.size(); b += SIZE) {
    const size_t n = std::min<size_t>(SIZE, y.size() - b);
    for (size_t i = 0; i < n; i++) y[b + i] = F(in.x[b + i]);
    doubling<R>(y.data() + b, n);
    const float sum = y[b + n - 1];
    for (size_t i = 0; i < n; i++) y[b + i] += carry;
    carry = C(carry + sum);
  }
}

/** Up-sweep and down-sweep over the whole array (work-efficient scan). */
void sweeps(const Inputs& in, Values& y) {
  size_t n = 1;
  while (n < y.size()) n *= 2;
  Values v(n, 0.0f);
  std::copy(in.x.begin(), in.x.end(), v.begin());
  for (size_t d = 1; d < n; d *= 2)
    for (size_t i = 2 * d - 1; i < n; i += 2 * d) v[i] += v[i - d];
  v[n - 1] = 0;
  for (size_t d = n / 2; d >= 1; d /= 2)
    for (size_t i = 2 * d - 1; i < n; i += 2 * d) {
      const float left = v[i - d];
      v[i - d] = v[i];
      v[i] += left;
    }
  for (size_t i = 0; i < y.size(); i++) y[i] = v[i] + in.x[i];
}

void exclusive(const Inputs& in, Values& y) {
  sequentially<>(in, y);
  for (size_t i = y.size(); i-- > 1;) y[i] = y[i - 1];
  y[0] = 0;
}
void withoutCarry(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) y[i] = i % 1024 == 0 ? in.x[i] : y[i - 1] + in.x[i];
}
/** The carry of every block but the first lacks the last element of the block before. */
void carryOffByOne(const Inputs& in, Values& y) {
  sequentially<>(in, y);
  for (size_t i = 1024; i < y.size(); i++) y[i] -= in.x[i / 1024 * 1024 - 1];
}
template <Rounding R>
void rounded(const Inputs& in, Values& y) {
  blocks<256>(in, y);
  for (float& v : y) v = R(v);
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin: each sum one after the other", true, sequentially<>},
      {"blocks of 256, carried", true, blocks<256>},
      {"blocks of 4096, carried", true, blocks<4096>},
      {"up-sweep and down-sweep", true, sweeps},
      {"sums in bf16", false, sequentially<toBf16>},
      {"sums in fp16", false, sequentially<toHalf>},
      {"bf16 within blocks", false, blocks<256, toFloat, toBf16>},
      {"fp16 within blocks", false, blocks<256, toFloat, toHalf>},
      {"carries rounded to bf16", false, blocks<256, toFloat, toFloat, toBf16>},
      {"carries rounded to fp16", false, blocks<256, toFloat, toFloat, toHalf>},
      {"carries rounded to TF32", false, blocks<256, toFloat, toFloat, toTf32>},
      {"exclusive", false, exclusive},
      {"blocks without carries", false, withoutCarry},
      {"carries lack an element", false, carryOffByOne},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"results truncated to bf16", false, rounded<truncateBf16>});
  } else {
    list.push_back({"inputs rounded to TF32", false, blocks<256, toTf32>});
    list.push_back({"inputs rounded to fp16", false, blocks<256, toHalf>});
    list.push_back({"inputs rounded to bf16", false, blocks<256, toBf16>});
    list.push_back({"results rounded to bf16", false, rounded<toBf16>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
