// Versions of cross_entropy_loss for measuring its error constant.
#include "sums_versions.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t s) : x(cm::floats(p.in("X"))), y(cm::floats(p.in("Y"))), seed(s) {}
  Values x, y;
  uint64_t seed;
};

float plainLog(float v) { return std::log(v); }
/** __logf: lg2.approx (absolute error 2^-22 near 1, else relative; PTX manual) times ln 2, with a pseudo-random error. */
float fastLog(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  const double exact = std::log2(double(v)), error = 2 * double(cm::mix64(b) >> 11) * 0x1p-53 - 1;
  const bool nearOne = v >= 0.5f && v <= 2.0f;
  return float(exact + error * (nearOne ? 0x1p-22 : 0x1p-22 * std::fabs(exact))) * 0.693147181f;
}
template <Rounding R>
float roundedLog(float v) { return R(std::log(v)); }

/** -Y ln max(X, 1e-8): X rounded by F, Y by G, term by P. */
template <float (*LOG)(float) = plainLog, Rounding F = toFloat, Rounding G = toFloat, Rounding P = toFloat>
Values terms(const Inputs& in) {
  Values t(in.x.size());
  for (size_t i = 0; i < t.size(); i++) t[i] = P(-G(in.y[i]) * LOG(std::fmax(F(in.x[i]), 1e-8f)));
  return t;
}
template <int CLAMP>  // 1e-CLAMP
Values clamped(const Inputs& in) {
  const float least = std::pow(10.0f, -float(CLAMP));
  Values t(in.x.size());
  for (size_t i = 0; i < t.size(); i++) t[i] = -in.y[i] * std::log(std::fmax(in.x[i], least));
  return t;
}
Values base2(const Inputs& in) {
  Values t = terms(in);
  for (float& v : t) v *= 1.44269504f;
  return t;
}
float plain(const Inputs&, float sum) { return sum; }
float mean(const Inputs& in, float sum) { return sum / float(in.x.size()); }

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  auto list = sumVersions<Inputs>(terms<>, plain);
  const auto add = [&](const char* name, bool correct, auto of, auto finish) {
    list.push_back({name, correct, reduction<Inputs>(of, byPairs, finish)});
  };
  add("fast logarithm", true, terms<fastLog>, plain);
  list.push_back({"fast logarithm, origin's order", true, reduction<Inputs>(terms<fastLog>, bySequentialAtomics, plain)});
  add("clamp at 1e-7", false, clamped<7>, plain);
  add("clamp at 1e-12", false, clamped<12>, plain);
  add("logarithm of base 2", false, base2, plain);
  add("mean", false, terms<>, mean);
  add("logarithms rounded to bf16", false, terms<roundedLog<toBf16>>, plain);
  add("logarithms rounded to fp16", false, terms<roundedLog<toHalf>>, plain);
  add("terms rounded to bf16", false, terms<plainLog, toFloat, toFloat, toBf16>, plain);
  add("terms rounded to fp16", false, terms<plainLog, toFloat, toFloat, toHalf>, plain);
  add("result rounded to bf16", false, terms<>, [](const Inputs&, float s) { return toBf16(s); });
  if (elem == cm::Storage::f32) {
    add("X rounded to TF32", false, terms<plainLog, toTf32>, plain);
    add("X rounded to fp16", false, terms<plainLog, toHalf>, plain);
    add("X rounded to bf16", false, terms<plainLog, toBf16>, plain);
  }
  return list;
}

int main() { return program<Inputs>(variants); }
