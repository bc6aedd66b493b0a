// Versions of FFT for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : re(cm::floats(p.in("input_real"))), im(cm::floats(p.in("input_img"))) {}
  Values re, im;
  size_t n() const { return re.size(); }
};

constexpr double kTurn = 6.283185307179586476925;

/** Twiddle factors exp(-2 pi i k / n) in fp32: from double, from an angle in fp32, and rounded. */
using Twiddle = void (*)(size_t k, size_t n, float& c, float& s);
void exact(size_t k, size_t n, float& c, float& s) {
  c = float(std::cos(kTurn * double(k) / double(n)));
  s = float(-std::sin(kTurn * double(k) / double(n)));
}
void floatAngle(size_t k, size_t n, float& c, float& s) {
  const float angle = -6.28318531f * float(k) / float(n);
  c = std::cos(angle), s = std::sin(angle);
}
template <Rounding R>
void roundedTwiddle(size_t k, size_t n, float& c, float& s) {
  exact(k, n, c, s);
  c = R(c), s = R(s);
}

/** Radix 2, decimation in time; inputs rounded by F, data after every stage by R. */
template <Twiddle W = exact, Rounding F = toFloat, Rounding R = toFloat>
void radix2(const Inputs& in, Values& y) {
  const size_t n = in.n();
  float *re = y.data(), *im = y.data() + n;
  for (size_t i = 0, j = 0; i < n; i++) {
    re[i] = F(in.re[j]), im[i] = F(in.im[j]);
    size_t bit = n / 2;
    for (; bit > 0 && (j & bit); bit /= 2) j ^= bit;
    j |= bit;
  }
  for (size_t half = 1; half < n; half *= 2)
    for (size_t k = 0; k < half; k++) {
      float c, s;
      W(k, 2 * half, c, s);
      for (size_t a = k; a < n; a += 2 * half) {
        const size_t b = a + half;
        const float tr = re[b] * c - im[b] * s, ti = re[b] * s + im[b] * c;
        re[b] = R(re[a] - tr), im[b] = R(im[a] - ti);
        re[a] = R(re[a] + tr), im[a] = R(im[a] + ti);
      }
    }
}

/** Decimation in frequency with self-sorting (Stockham), as most GPU versions do it, complex products fused. */
void stockham(const Inputs& in, Values& y) {
  const size_t n = in.n();
  Values ar = in.re, ai = in.im, br(n), bi(n);
  for (size_t length = n, stride = 1; length > 1; length /= 2, stride *= 2) {
    const size_t half = length / 2;
    for (size_t p = 0; p < half; p++) {
      float c, s;
      exact(p, length, c, s);
      for (size_t q = 0; q < stride; q++) {
        const size_t a = q + stride * p, b = q + stride * (p + half), to = q + stride * 2 * p;
        const float dr = ar[a] - ar[b], di = ai[a] - ai[b];
        br[to] = ar[a] + ar[b], bi[to] = ai[a] + ai[b];
        br[to + stride] = std::fmaf(dr, c, -(di * s)), bi[to + stride] = std::fmaf(dr, s, di * c);
      }
    }
    ar.swap(br), ai.swap(bi);
  }
  std::copy(ar.begin(), ar.end(), y.begin());
  std::copy(ai.begin(), ai.end(), y.begin() + std::ptrdiff_t(n));
}

/** Definition, summed in double: the one version that shares nothing with the reference. Long signals: every result of radix2. */
void definition(const Inputs& in, Values& y) {
  const size_t n = in.n();
  if (n > 1024) return radix2<>(in, y);
  for (size_t k = 0; k < n; k++) {
    double re = 0, im = 0;
    for (size_t i = 0; i < n; i++) {
      const double c = std::cos(kTurn * double(i * k % n) / double(n)), s = -std::sin(kTurn * double(i * k % n) / double(n));
      re += double(in.re[i]) * c - double(in.im[i]) * s, im += double(in.re[i]) * s + double(in.im[i]) * c;
    }
    y[k] = float(re), y[n + k] = float(im);
  }
}

void inverse(const Inputs& in, Values& y) {
  radix2<>(in, y);
  const size_t n = in.n();
  std::reverse(y.begin() + 1, y.begin() + std::ptrdiff_t(n));
  std::reverse(y.begin() + std::ptrdiff_t(n) + 1, y.end());
}
void normalised(const Inputs& in, Values& y) {
  radix2<>(in, y);
  for (float& v : y) v /= float(in.n());
}
void notReordered(const Inputs& in, Values& y) {
  Values z(y.size());
  radix2<>(in, z);
  const size_t n = in.n();
  for (size_t i = 0, j = 0; i < n; i++) {
    y[i] = z[j], y[n + i] = z[n + j];
    size_t bit = n / 2;
    for (; bit > 0 && (j & bit); bit /= 2) j ^= bit;
    j |= bit;
  }
}
void lastStageMissing(const Inputs& in, Values& y) {
  const size_t n = in.n(), half = n / 2;
  radix2<>(in, y);
  for (size_t k = 0; k < half; k++) {
    y[k] = (y[k] + y[k + half]) / 2, y[n + k] = (y[n + k] + y[n + k + half]) / 2;
    y[k + half] = y[k], y[n + k + half] = y[n + k];
  }
}
template <Rounding R>
void rounded(const Inputs& in, Values& y) {
  radix2<>(in, y);
  for (float& v : y) v = R(v);
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin: radix 2 in place", true, radix2<>},
      {"Stockham, fused", true, stockham},
      {"definition, up to 1024", true, definition},
      {"angles in fp32", true, radix2<floatAngle>},
      {"twiddle factors rounded to bf16", false, radix2<roundedTwiddle<toBf16>>},
      {"twiddle factors rounded to fp16", false, radix2<roundedTwiddle<toHalf>>},
      {"twiddle factors rounded to TF32", false, radix2<roundedTwiddle<toTf32>>},
      {"stages rounded to bf16", false, radix2<exact, toFloat, toBf16>},
      {"stages rounded to fp16", false, radix2<exact, toFloat, toHalf>},
      {"inverse transform", false, inverse},
      {"divided by N", false, normalised},
      {"bit-reversed order", false, notReordered},
      {"last stage missing", false, lastStageMissing},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"results truncated to bf16", false, rounded<truncateBf16>});
  } else {
    list.push_back({"inputs rounded to TF32", false, radix2<exact, toTf32>});
    list.push_back({"inputs rounded to fp16", false, radix2<exact, toHalf>});
    list.push_back({"stages rounded to TF32", false, radix2<exact, toFloat, toTf32>});
    list.push_back({"results rounded to bf16", false, rounded<toBf16>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
