// Versions of rope for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : x(cm::floats(p.in("input"))), m(p.dim("M")), d(p.dim("D")), base(float(p.scalar(4))) {}
  Values x;
  int64_t m, d;
  float base;
};

/** Frequency of pair p; angle of a position. */
using Frequency = float (*)(float base, int64_t p, int64_t d);
struct Turn {
  float cosine, sine;
};
using Rotation = Turn (*)(float angle);

float byPow(float base, int64_t p, int64_t d) { return std::pow(base, -2.0f * float(p) / float(d)); }
float byQuotient(float base, int64_t p, int64_t d) { return 1.0f / std::pow(base, 2.0f * float(p) / float(d)); }
float byExp(float base, int64_t p, int64_t d) { return std::exp(-std::log(base) * (2.0f * float(p) / float(d))); }
float byExp2(float base, int64_t p, int64_t d) { return std::exp2(-(2.0f * float(p)) * (std::log2(base) / float(d))); }
float byDouble(float base, int64_t p, int64_t d) { return float(std::pow(double(base), -2.0 * double(p) / double(d))); }
template <Rounding R>
float roundedFrequency(float base, int64_t p, int64_t d) { return R(byPow(base, p, d)); }
float shifted(float base, int64_t p, int64_t d) { return byPow(base, p + 1, d); }
float tenThousand(float, int64_t p, int64_t d) { return byPow(10000.0f, p, d); }
float halves(float base, int64_t p, int64_t d) { return std::pow(base, -float(p) / float(d)); }

Turn accurate(float angle) { return {std::cos(angle), std::sin(angle)}; }
template <Rounding R>
Turn roundedTurn(float angle) {
  const Turn t = accurate(angle);
  return {R(t.cosine), R(t.sine)};
}
template <Rounding R>
Turn roundedAngle(float angle) { return accurate(R(angle)); }

template <Frequency F, Rotation T, bool FUSED = false, Rounding Out = toFloat>
void rotate(const Inputs& in, Values& y) {
  for (int64_t p = 0; p < in.d / 2; p++) {
    const float frequency = F(in.base, p, in.d);
    for (int64_t m = 0; m < in.m; m++) {
      const Turn t = T(float(m) * frequency);
      const size_t i = size_t(m * in.d + 2 * p);
      const float a = in.x[i], b = in.x[i + 1];
      y[i] = Out(FUSED ? std::fmaf(a, t.cosine, -(b * t.sine)) : a * t.cosine - b * t.sine);
      y[i + 1] = Out(FUSED ? std::fmaf(a, t.sine, b * t.cosine) : a * t.sine + b * t.cosine);
    }
  }
}

/** Position after position by the angle of one step: errors of the rotations add up. */
void stepByStep(const Inputs& in, Values& y) {
  for (int64_t p = 0; p < in.d / 2; p++) {
    const Turn step = accurate(byPow(in.base, p, in.d));
    Turn t = {1, 0};
    for (int64_t m = 0; m < in.m; m++) {
      const size_t i = size_t(m * in.d + 2 * p);
      y[i] = in.x[i] * t.cosine - in.x[i + 1] * t.sine;
      y[i + 1] = in.x[i] * t.sine + in.x[i + 1] * t.cosine;
      t = {toTf32(t.cosine * step.cosine - t.sine * step.sine), toTf32(t.cosine * step.sine + t.sine * step.cosine)};
    }
  }
}

void exact(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i += 2) {
    const int64_t m = int64_t(i) / in.d, p = int64_t(i) % in.d / 2;
    const double angle = double(m) * std::pow(double(in.base), -2.0 * double(p) / double(in.d));
    const double a = in.x[i], b = in.x[i + 1];
    y[i] = float(a * std::cos(angle) - b * std::sin(angle));
    y[i + 1] = float(a * std::sin(angle) + b * std::cos(angle));
  }
}

/** Pairs (p, p + D/2) instead of neighbours. */
void halvesPaired(const Inputs& in, Values& y) {
  for (int64_t m = 0; m < in.m; m++)
    for (int64_t p = 0; p < in.d / 2; p++) {
      const Turn t = accurate(float(m) * byPow(in.base, p, in.d));
      const size_t i = size_t(m * in.d + p), j = i + size_t(in.d / 2);
      y[i] = in.x[i] * t.cosine - in.x[j] * t.sine;
      y[j] = in.x[i] * t.sine + in.x[j] * t.cosine;
    }
}

Turn otherWay(float angle) { return accurate(-angle); }

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"exact, rounded once", true, exact},
      {"origin: powf, cosf, sinf", true, rotate<byPow, accurate>},
      {"fused", true, rotate<byPow, accurate, true>},
      {"quotient of the power", true, rotate<byQuotient, accurate, true>},
      {"frequency by exp", true, rotate<byExp, accurate, true>},
      {"frequency by exp2", true, rotate<byExp2, accurate, true>},
      {"frequency in double", true, rotate<byDouble, accurate, true>},
      {"frequency in bf16", false, rotate<roundedFrequency<toBf16>, accurate>},
      {"frequency in fp16", false, rotate<roundedFrequency<toHalf>, accurate>},
      {"angle in bf16", false, rotate<byPow, roundedAngle<toBf16>>},
      {"angle in fp16", false, rotate<byPow, roundedAngle<toHalf>>},
      {"cosine and sine in bf16", false, rotate<byPow, roundedTurn<toBf16>>},
      {"cosine and sine in fp16", false, rotate<byPow, roundedTurn<toHalf>>},
      {"position after position, in TF32", false, stepByStep},
      {"exponent of the next pair", false, rotate<shifted, accurate>},
      {"exponent -p/D", false, rotate<halves, accurate>},
      {"base 10000 always", false, rotate<tenThousand, accurate>},
      {"turned the other way", false, rotate<byPow, otherWay>},
      {"pairs D/2 apart", false, halvesPaired},
      {"copy", false, [](const Inputs& in, Values& y) { y = in.x; }},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, rotate<byPow, accurate, false, truncateBf16>});
  } else {
    list.push_back({"result rounded to TF32", false, rotate<byPow, accurate, false, toTf32>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
