// Versions of dot_product for measuring its error constant: orders that GPUs use, and precisions that must be caught.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s) : x(cm::floats(p.in("X"))), y(cm::floats(p.in("Y"))), seed(s) {}
  Values x, y;
  uint64_t seed;
  size_t n() const { return x.size(); }
};

/** Products with both factors rounded by F and the product by P. */
template <Rounding F = toFloat, Rounding P = toFloat>
auto product(const Inputs& in) {
  return [&in](size_t i) { return P(F(in.x[i]) * F(in.y[i])); };
}

/** Terms as an array. */
template <Rounding F = toFloat, Rounding P = toFloat>
Values terms(const Inputs& in) {
  Values t(in.n());
  for (size_t i = 0; i < t.size(); i++) t[i] = P(F(in.x[i]) * F(in.y[i]));
  return t;
}

/** As few accumulators as keep every chain within 2^18 additions, each one after the other. */
size_t chains(const Inputs& in) { return (in.n() + 262143) / 262144; }

float fusedChains(const Inputs& in) {
  Values s(chains(in), 0.0f);
  for (size_t i = 0; i < in.n(); i++) s[i % s.size()] = std::fmaf(in.x[i], in.y[i], s[i % s.size()]);
  return sequential(s);
}

/** float4 loads, four fused accumulators a thread, then a tree. */
float vectorised(const Inputs& in) {
  const size_t accumulators = std::min<size_t>(in.n(), 4 * 256 * 1056);
  Values s(std::max<size_t>(1, accumulators), 0.0f);
  for (size_t i = 0; i < in.n(); i++) s[i % s.size()] = std::fmaf(in.x[i], in.y[i], s[i % s.size()]);
  return tree(s);
}

/** Three TF32 products for one: x = high + low in TF32. */
float splitTf32(const Inputs& in) {
  Values t(in.n());
  for (size_t i = 0; i < t.size(); i++) {
    const float xh = toTf32(in.x[i]), xl = toTf32(in.x[i] - xh), yh = toTf32(in.y[i]), yl = toTf32(in.y[i] - yh);
    t[i] = xh * yh + (xh * yl + xl * yh);
  }
  return tree(strided(t.size(), 8192, [&](size_t i) { return t[i]; }));
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  const bool bf16 = elem == cm::Storage::bf16;  // of the inputs: bf16 numbers are TF32 numbers, too
  using In = const Inputs&;
  const size_t threads = 262144;
  const auto one = [](auto f) { return [f](In in, Values& y) { y[0] = f(in); }; };
  return {
      {"chains of 2^18", true, one([](In in) { return sequential(strided(in.n(), chains(in), product(in))); })},
      {"chains of 2^18, fused", true, one(fusedChains)},
      {"origin: 262144 threads, atomics in random order", true,
       one([=](In in) { return sequential(shuffled(strided(in.n(), threads, product(in)), in.seed)); })},
      {"block sums, atomics in random order", true, one([=](In in) {
         const Values s = strided(in.n(), threads, product(in));
         Values blocks;
         for (size_t b = 0; b < s.size(); b += 256) blocks.push_back(tree(s.data() + b, std::min<size_t>(256, s.size() - b)));
         return sequential(shuffled(blocks, in.seed));
       })},
      {"pairwise", true, one([](In in) { return tree(terms(in)); })},
      {"float4, fused, tree", true, one(vectorised)},
      {"three TF32 products", true, one(splitTf32)},
      {"factors rounded to fp16", false, one([](In in) { return tree(terms<toHalf>(in)); })},
      {"factors rounded to TF32", bf16, one([](In in) { return tree(terms<toTf32>(in)); })},
      {"products rounded to bf16", false, one([](In in) { return tree(terms<toFloat, toBf16>(in)); })},
      {"products rounded to fp16", false, one([](In in) { return tree(terms<toFloat, toHalf>(in)); })},
      {"fp16 sums in threads", false,
       one([=](In in) { return tree(strided<toHalf>(in.n(), 32768, product<toHalf, toHalf>(in))); })},
      {"bf16 sums in threads", false,
       one([=](In in) { return tree(strided<toBf16>(in.n(), 32768, product<toFloat, toBf16>(in))); })},
      {"bf16 block sums", false, one([=](In in) { return tree<toBf16>(strided(in.n(), threads, product(in))); })},
      {"fp16 throughout, tree", false, one([](In in) { return tree<toHalf>(terms<toHalf, toHalf>(in)); })},
      {"result rounded to bf16", false, one([](In in) { return toBf16(tree(terms(in))); })},
      {"last element ignored", false, one([](In in) {
         Values t = terms(in);
         t.pop_back();
         return tree(t);
       })},
      {"zeros", false, one([](In) { return 0.0f; })},
  };
}

int main() { return program<Inputs>(variants); }
