// Versions of reductions to one number, for measuring their error constants: orders that GPUs use, and precisions and omissions
// that must be caught.
#pragma once

#include "measure.h"

namespace measure {

/** 262144 threads of the origins. */
constexpr size_t kThreads = 262144;

inline float bySequentialAtomics(const Values& t, uint64_t seed) {
  return sequential(shuffled(strided(t.size(), kThreads, [&](size_t i) { return t[i]; }), seed));
}
inline float byBlocks(const Values& t, uint64_t seed) {
  const Values s = strided(t.size(), kThreads, [&](size_t i) { return t[i]; });
  Values blocks;
  for (size_t b = 0; b < s.size(); b += 256) blocks.push_back(tree(s.data() + b, std::min<size_t>(256, s.size() - b)));
  return sequential(shuffled(blocks, seed));
}
inline float byPairs(const Values& t, uint64_t) { return tree(t); }
inline float byFewThreads(const Values& t, uint64_t) { return tree(strided(t.size(), 8192, [&](size_t i) { return t[i]; })); }
template <Rounding R>
float inThreads(const Values& t, uint64_t) { return tree(strided<R>(t.size(), 32768, [&](size_t i) { return R(t[i]); })); }
template <Rounding R>
float inBlocks(const Values& t, uint64_t) { return tree<R>(strided(t.size(), kThreads, [&](size_t i) { return t[i]; })); }
inline float withoutLast(const Values& t, uint64_t) { return tree(t.data(), t.size() - 1); }
inline float firstHalf(const Values& t, uint64_t) { return t.size() < 2 ? 0.0f : 2 * tree(t.data(), t.size() / 2); }

/** y[0] = finish(in, sum(terms(in), seed)). */
template <class Inputs, class Terms, class Sum, class Finish>
std::function<void(const Inputs&, Values&)> reduction(Terms terms, Sum sum, Finish finish) {
  return [=](const Inputs& in, Values& y) { y[0] = finish(in, sum(terms(in), in.seed)); };
}

/**
 * @param terms terms(in): all terms in fp32; terms with roundings come in `wrong`.
 * @param finish finish(in, sum): the result.
 */
template <class Inputs, class Terms, class Finish>
std::vector<Variant<Inputs>> sumVersions(Terms terms, Finish finish) {
  const auto with = [=](auto sum) { return reduction<Inputs>(terms, sum, finish); };
  return {
      {"origin: 262144 threads, atomics in random order", true, with(bySequentialAtomics)},
      {"block sums, atomics in random order", true, with(byBlocks)},
      {"pairwise", true, with(byPairs)},
      {"8192 threads, tree", true, with(byFewThreads)},
      {"bf16 sums in threads", false, with(inThreads<toBf16>)},
      {"fp16 sums in threads", false, with(inThreads<toHalf>)},
      {"bf16 block sums", false, with(inBlocks<toBf16>)},
      {"last element ignored", false, with(withoutLast)},
      {"first half only, doubled", false, with(firstHalf)},
      {"zeros", false, [](const Inputs&, Values& y) { y[0] = 0; }},
      {"result truncated to bf16", false, reduction<Inputs>(terms, byPairs, [=](const Inputs& in, float s) { return truncateBf16(finish(in, s)); })},
  };
}

}  // namespace measure
