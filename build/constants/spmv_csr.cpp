// Versions of spmv_csr for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s)
      : values(cm::floats(p.in("values"))), x(cm::floats(p.in("x"))), columns(cm::ints(p.in("col_indices"))),
        offsets(cm::ints(p.in("row_offsets"))), seed(s) {}
  Values values, x;
  std::vector<int32_t> columns, offsets;
  uint64_t seed;
};

/** Calls f(row, terms of the row), factors rounded by F and products by P. */
template <Rounding F = toFloat, Rounding P = toFloat, class Row>
void eachRow(const Inputs& in, const Row& f) {
  Values terms;
  for (size_t r = 0; r + 1 < in.offsets.size(); r++) {
    terms.clear();
    for (int32_t k = in.offsets[r]; k < in.offsets[r + 1]; k++)
      terms.push_back(P(F(in.values[size_t(k)]) * F(in.x[size_t(in.columns[size_t(k)])])));
    f(r, terms);
  }
}

void fused(const Inputs& in, Values& y) {
  for (size_t r = 0; r + 1 < in.offsets.size(); r++) {
    float s = 0;
    for (int32_t k = in.offsets[r]; k < in.offsets[r + 1]; k++)
      s = std::fmaf(in.values[size_t(k)], in.x[size_t(in.columns[size_t(k)])], s);
    y[r] = s;
  }
}

/** LANES threads a row, then a tree; R rounds partial sums. */
template <int LANES, Rounding R = toFloat>
float lanes(const Values& t) {
  return t.empty() ? 0.0f : tree<R>(strided<R>(t.size(), LANES, [&](size_t i) { return t[i]; }));
}

/** Equal pieces of 64 entries by different threads, added atomically in random order (load balanced by entries). */
float pieces(const Values& t, uint64_t seed) {
  Values sums;
  for (size_t i = 0; i < t.size(); i += 64) {
    float s = 0;
    for (size_t k = i; k < std::min(t.size(), i + 64); k++) s += t[k];
    sums.push_back(s);
  }
  return sequential(shuffled(sums, seed));
}

template <Rounding F, Rounding P, class Sum>
auto rows(Sum sum) {
  return [sum](const Inputs& in, Values& y) { eachRow<F, P>(in, [&](size_t r, const Values& t) { y[r] = sum(t); }); };
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  const auto plain = [](auto sum) { return rows<toFloat, toFloat>(sum); };
  std::vector<Variant<Inputs>> list = {
      {"origin: one thread a row", true, plain([](const Values& t) { return sequential(t); })},
      {"one thread a row, fused", true, fused},
      {"4 lanes a row", true, plain(lanes<4>)},
      {"warp a row", true, plain(lanes<32>)},
      {"block a row", true, plain(lanes<256>)},
      {"pieces of 64, atomics in random order", true,
       [](const Inputs& in, Values& y) { eachRow(in, [&](size_t r, const Values& t) { y[r] = pieces(t, in.seed + r); }); }},
      {"products rounded to bf16", false, rows<toFloat, toBf16>(lanes<32>)},
      {"products rounded to fp16", false, rows<toFloat, toHalf>(lanes<32>)},
      {"sums in bf16", false, rows<toFloat, toBf16>(lanes<32, toBf16>)},
      {"sums in fp16", false, rows<toHalf, toHalf>(lanes<32, toHalf>)},
      {"lane sums rounded to bf16", false, plain([](const Values& t) {
         if (t.empty()) return 0.0f;
         Values s = strided(t.size(), 32, [&](size_t i) { return t[i]; });
         return tree<toBf16>(s);
       })},
      {"last entry of every row ignored", false, plain([](const Values& t) { return t.empty() ? 0.0f : tree(t.data(), t.size() - 1); })},
      {"rows cut after 1024 entries", false, plain([](const Values& t) { return tree(t.data(), std::min<size_t>(1024, t.size())); })},
      {"empty rows not written", false, plain([](const Values& t) { return t.empty() ? NAN : tree(t); })},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, plain([](const Values& t) { return truncateBf16(tree(t)); })});
  } else {
    list.push_back({"factors rounded to fp16", false, rows<toHalf, toFloat>(lanes<32>)});
    list.push_back({"factors rounded to TF32", false, rows<toTf32, toFloat>(lanes<32>)});
    list.push_back({"result rounded to bf16", false, plain([](const Values& t) { return toBf16(tree(t)); })});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
