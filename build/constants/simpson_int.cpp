// Versions of simpson_int for measuring its error constant.
#include "sums_versions.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s)
      : y(cm::floats(p.in("y_samples"))), a(float(p.scalar(2))), b(float(p.scalar(3))), seed(s) {}
  Values y;
  float a, b;
  uint64_t seed;
  size_t n() const { return y.size(); }
  float h() const { return (b - a) / float(n() - 1); }
};

/** One term for every pair of intervals, in units of h/3, and one for an odd last interval. */
template <Rounding F = toFloat>
Values pairs(const Inputs& in) {
  Values t;
  for (size_t i = 0; i + 2 < in.n(); i += 2) t.push_back(F(in.y[i]) + 4 * F(in.y[i + 1]) + F(in.y[i + 2]));
  const size_t n = in.n();
  if (n % 2 == 0) t.push_back((5 * F(in.y[n - 1]) + 8 * F(in.y[n - 2]) - F(in.y[n - 3])) / 4);
  return t;
}
/** One term for every sample. */
Values weighted(const Inputs& in) {
  Values t = in.y;
  const size_t n = in.n(), end = n % 2 ? n - 1 : n - 2;
  for (size_t i = 0; i <= end; i++) t[i] *= i == 0 || i == end ? 1.0f : i % 2 ? 4.0f : 2.0f;
  if (n % 2 == 0) {
    t[n - 1] = 1.25f * in.y[n - 1];
    t[n - 2] += 2.0f * in.y[n - 2];
    t[n - 3] -= 0.25f * in.y[n - 3];
  }
  return t;
}
Values scaledPairs(const Inputs& in) {
  Values t = pairs(in);
  for (float& v : t) v *= in.h() / 3;
  return t;
}
Values published(const Inputs& in) {
  Values t = pairs(in);
  if (in.n() % 2 == 0) t.pop_back();
  return t;
}
/** The last interval by the trapezoidal rule. */
Values trapezoid(const Inputs& in) {
  Values t = pairs(in);
  if (in.n() % 2 == 0) t.back() = 1.5f * (in.y[in.n() - 1] + in.y[in.n() - 2]);
  return t;
}
float finish(const Inputs& in, float s) { return s * (in.h() / 3); }
float plain(const Inputs&, float s) { return s; }

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  auto list = sumVersions<Inputs>(pairs<>, finish);
  const auto add = [&](const char* name, bool correct, auto of, auto end) {
    list.push_back({name, correct, reduction<Inputs>(of, byPairs, end)});
  };
  list.push_back({"a thread for every sample, origin's order", true, reduction<Inputs>(weighted, bySequentialAtomics, finish)});
  list.push_back({"pairs scaled first, 8192 threads, tree", true, reduction<Inputs>(scaledPairs, byFewThreads, plain)});
  add("scaled in another order", true, weighted, [](const Inputs& in, float s) { return (in.b - in.a) * s / (3 * float(in.n() - 1)); });
  add("published: last of an odd number of intervals missing", false, published, finish);
  add("last of an odd number of intervals by the trapezoidal rule", false, trapezoid, finish);
  add("h = (b - a)/N", false, pairs<>, [](const Inputs& in, float s) { return s * ((in.b - in.a) / float(in.n()) / 3); });
  if (elem == cm::Storage::f32) {
    add("samples rounded to TF32", false, pairs<toTf32>, finish);
    add("samples rounded to fp16", false, pairs<toHalf>, finish);
    add("samples rounded to bf16", false, pairs<toBf16>, finish);
    add("result rounded to bf16", false, pairs<>, [](const Inputs& in, float s) { return toBf16(finish(in, s)); });
  }
  return list;
}

int main() { return program<Inputs>(variants); }
