// Versions of MSE_loss for measuring its error constant.
#include "sums_versions.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s) : x(cm::floats(p.in("X"))), y(cm::floats(p.in("Y"))), seed(s) {}
  Values x, y;
  uint64_t seed;
};

/** Squares of differences: inputs rounded by F, difference by D, square by P. */
template <Rounding F = toFloat, Rounding D = toFloat, Rounding P = toFloat>
Values terms(const Inputs& in) {
  Values t(in.x.size());
  for (size_t i = 0; i < t.size(); i++) {
    const float difference = D(F(in.x[i]) - F(in.y[i]));
    t[i] = P(difference * difference);
  }
  return t;
}
/** Sums of X^2, X Y and Y^2. */
void expanded(const Inputs& in, Values& y) {
  const size_t n = in.x.size();
  const auto sum = [n](const Values& a, const Values& b) { return tree(strided(n, 8192, [&](size_t i) { return a[i] * b[i]; })); };
  y[0] = (sum(in.x, in.x) - 2 * sum(in.x, in.y) + sum(in.y, in.y)) / float(n);
}
float mean(const Inputs& in, float sum) { return sum / float(in.x.size()); }
float byReciprocal(const Inputs& in, float sum) { return sum * (1.0f / float(in.x.size())); }
float total(const Inputs&, float sum) { return sum; }
/** Every term divided by N before it is added. */
Values scaled(const Inputs& in) {
  Values t = terms(in);
  for (float& v : t) v *= 1.0f / float(t.size());
  return t;
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  auto list = sumVersions<Inputs>(terms<>, mean);
  const auto add = [&](const char* name, bool correct, auto of, auto finish) {
    list.push_back({name, correct, reduction<Inputs>(of, byPairs, finish)});
  };
  add("times 1/N", true, terms<>, byReciprocal);
  list.push_back({"terms times 1/N, 8192 threads, tree", true, reduction<Inputs>(scaled, byFewThreads, total)});
  list.push_back({"square expanded", false, expanded});
  add("not divided by N", false, terms<>, total);
  add("differences rounded to fp16", false, terms<toFloat, toHalf>, mean);
  add("squares rounded to bf16", false, terms<toFloat, toFloat, toBf16>, mean);
  add("squares rounded to fp16", false, terms<toFloat, toFloat, toHalf>, mean);
  add("result rounded to bf16", false, terms<>, [](const Inputs& in, float s) { return toBf16(mean(in, s)); });
  if (elem == cm::Storage::f32) {
    add("inputs rounded to TF32", false, terms<toTf32>, mean);
    add("inputs rounded to fp16", false, terms<toHalf>, mean);
    add("inputs rounded to bf16", false, terms<toBf16>, mean);
  }
  return list;
}

int main() { return program<Inputs>(variants); }
