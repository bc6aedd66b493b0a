// Versions of monte_carlo_int for measuring its error constant.
#include "sums_versions.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s)
      : y(cm::floats(p.in("y_samples"))), a(float(p.scalar(2))), b(float(p.scalar(3))), seed(s) {}
  Values y;
  float a, b;
  uint64_t seed;
};

template <Rounding F = toFloat>
Values terms(const Inputs& in) {
  Values t(in.y.size());
  for (size_t i = 0; i < t.size(); i++) t[i] = F(in.y[i]);
  return t;
}
Values scaled(const Inputs& in) {
  Values t = in.y;
  for (float& v : t) v *= (in.b - in.a) / float(t.size());
  return t;
}
float finish(const Inputs& in, float s) { return (in.b - in.a) * s / float(in.y.size()); }
float byFactor(const Inputs& in, float s) { return s * ((in.b - in.a) / float(in.y.size())); }
float plain(const Inputs&, float s) { return s; }

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  auto list = sumVersions<Inputs>(terms<>, finish);
  const auto add = [&](const char* name, bool correct, auto of, auto end) {
    list.push_back({name, correct, reduction<Inputs>(of, byPairs, end)});
  };
  add("times (b - a)/N", true, terms<>, byFactor);
  list.push_back({"samples scaled first, 8192 threads, tree", true, reduction<Inputs>(scaled, byFewThreads, plain)});
  add("interval reversed", false, terms<>, [](const Inputs& in, float s) { return -finish(in, s); });
  add("divided by N - 1", false, terms<>, [](const Inputs& in, float s) { return (in.b - in.a) * s / float(in.y.size() - 1); });
  if (elem == cm::Storage::f32) {
    add("samples rounded to TF32", false, terms<toTf32>, finish);
    add("samples rounded to fp16", false, terms<toHalf>, finish);
    add("samples rounded to bf16", false, terms<toBf16>, finish);
    add("result rounded to bf16", false, terms<>, [](const Inputs& in, float s) { return toBf16(finish(in, s)); });
  }
  return list;
}

int main() { return program<Inputs>(variants); }
