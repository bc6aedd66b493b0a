// Error constants of element-wise tasks: models of the GPU's functions, and the variants that every such task shares.
#pragma once

#include "measure.h"

namespace measure {

constexpr float kLog2e = 1.44269504f;

/** Pseudo-random number in [-1, 1) that belongs to v: sign and size of a modelled function's error. */
inline double noise(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  return 2 * double(cm::mix64(b + cm::kGolden) >> 11) * 0x1p-53 - 1;
}

/**
 * A library function of `ulps` ulp, half of one being the last rounding. CUDA's expf has 1, expm1f 1, tanhf 2, erff 2, erfcf 4
 * (programming guide, appendix on mathematical functions).
 */
inline float library(double exact, double ulps, float v) {
  return float(exact * (1 + (2 * ulps - 1) * 0x1p-24 * noise(v)));
}
inline float gpuExp(float v) { return library(std::exp(double(v)), 1, v); }
inline float gpuTanh(float v) { return library(std::tanh(double(v)), 2, v); }
inline float gpuErf(float v) { return library(std::erf(double(v)), 2, v); }

inline float flushed(float v) { return std::fabs(v) < 0x1p-126f ? std::copysign(0.0f, v) : v; }
/** ex2.approx.ftz: relative error up to 2^-22.5 (PTX manual). */
inline float approximateExp2(float v) { return flushed(float(std::exp2(double(v)) * (1 + 0x1p-22 * 0.7071 * noise(v)))); }
/** What fast-math makes of expf. */
inline float fastExp(float v) { return approximateExp2(flushed(v * kLog2e)); }
/** div.approx.ftz: 2 ulp; zero where the divisor lies between 2^126 and 2^128. */
inline float fastDivide(float a, float b) {
  if (std::fabs(b) > 0x1p126f && std::isfinite(b)) return std::copysign(0.0f, a);
  return flushed(float(double(a) / double(b) * (1 + 0x1p-23 * noise(b))));
}
/** rsqrt.approx.ftz: relative error up to 2^-22.9. */
inline float approximateRsqrt(float v) {
  return float(1 / std::sqrt(double(v)) * (1 + 0x1p-22 * 0.5359 * noise(v)));
}
/** tanh.approx: relative error up to 2^-11. */
inline float approximateTanh(float v) { return float(std::tanh(double(v)) * (1 + 0x1p-11 * noise(v))); }
template <Rounding R>
float exponential(float v) { return R(gpuExp(v)); }

/** Inputs of a task whose element i depends on x[i] and, maybe, y[i]; the wrapper's real scalars in order. */
struct Elements {
  Values x, y;
  std::vector<float> scalars;
  float s(size_t k) const { return scalars.at(k); }
};

/** float and bf16 arguments of a problem, as passed. */
inline std::vector<float> realScalars(const cm::Problem& p) {
  std::vector<float> out;
  const auto& args = p.spec().args;
  for (size_t k = 0; k < args.size(); k++)
    if (args[k].type == 'f' || args[k].type == 'h') out.push_back(float(p.scalar(int(k))));
  return out;
}

/** The one input `X`, or two inputs. */
struct Unary : Elements {
  Unary(const cm::Problem& p, uint64_t) {
    std::vector<Values> all;
    for (const cm::BufferSpec& b : p.spec().buffers)
      if (b.generated()) all.push_back(cm::floats(p.in(b.name.c_str())));
    x = std::move(all.at(0));
    if (all.size() > 1) y = std::move(all[1]);
    scalars = realScalars(p);
  }
};

/** out[i] = Out(F(In(x[i]), In(y[i]), inputs)). */
template <class Inputs, Rounding In = toFloat, Rounding Out = toFloat, class F>
std::function<void(const Inputs&, Values&)> each(F f) {
  return [f](const Inputs& in, Values& out) {
    for (size_t i = 0; i < out.size(); i++)
      out[i] = Out(f(In(in.x[i]), in.y.empty() ? 0.0f : In(in.y[i]), static_cast<const Elements&>(in)));
  };
}

/**
 * Wrong versions of f that every task must tell from it: narrower inputs or results, missing elements.
 * @param selects f copies or drops elements, so that bf16 results cannot be rounded wrongly.
 */
template <class Inputs, class F>
void addWrong(std::vector<Variant<Inputs>>& list, cm::Storage elem, F f, bool selects = false) {
  list.push_back({"zeros", false, [](const Inputs&, Values&) {}});
  list.push_back({"last element missing", false, [f](const Inputs& in, Values& out) {
                    each<Inputs>(f)(in, out);
                    out.back() = NAN;
                  }});
  list.push_back({"shifted by one element", false, [f](const Inputs& in, Values& out) {
                    each<Inputs>(f)(in, out);
                    std::rotate(out.begin(), out.begin() + 1, out.end());
                  }});
  if (elem == cm::Storage::bf16) {
    if (!selects) list.push_back({"result truncated to bf16", false, each<Inputs, toFloat, truncateBf16>(f)});
  } else {
    list.push_back({"input rounded to fp16", false, each<Inputs, toHalf>(f)});
    list.push_back({"input rounded to TF32", false, each<Inputs, toTf32>(f)});
    list.push_back({"input rounded to bf16", false, each<Inputs, toBf16>(f)});
    list.push_back({"result rounded to fp16", false, each<Inputs, toFloat, toHalf>(f)});
    list.push_back({"result rounded to bf16", false, each<Inputs, toFloat, toBf16>(f)});
  }
}

}  // namespace measure
