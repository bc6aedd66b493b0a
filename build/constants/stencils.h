// Versions of one heat step on a grid of two or three dimensions: ways that kernels compute it, and precisions and mistakes that
// must be caught.
#pragma once

#include "measure.h"

namespace measure {

struct Grid {
  explicit Grid(const cm::Problem& p) : u(cm::floats(p.in("u_old"))), r(float(p.scalar(2))) {
    for (const auto& d : p.spec().dims)
      if (d.first != "r64") extents.push_back(d.second);
  }
  Values u;
  float r;
  std::vector<int64_t> extents;
};

/** Interior cells from centre and neighbours (in order of rising dimension, lower one first), others copied. */
template <class Cell>
void eachCell(const Grid& g, Values& y, const Cell& cell) {
  std::vector<int64_t> strides(g.extents.size(), 1);
  for (size_t d = g.extents.size(); d-- > 1;) strides[d - 1] = strides[d] * g.extents[d];
  std::vector<float> around(2 * strides.size());
  for (int64_t i = 0; i < int64_t(g.u.size()); i++) {
    bool interior = true;
    for (size_t d = 0; d < strides.size(); d++) {
      const int64_t at = i / strides[d] % g.extents[d];
      interior = interior && at > 0 && at < g.extents[d] - 1;
      if (interior) around[2 * d] = g.u[size_t(i - strides[d])], around[2 * d + 1] = g.u[size_t(i + strides[d])];
    }
    y[size_t(i)] = interior ? cell(g.u[size_t(i)], around, g.r) : g.u[size_t(i)];
  }
}

using Around = std::vector<float>;

/** c + r (sum - n c); R rounds every step, In what is read. */
template <Rounding R = toFloat, Rounding In = toFloat>
float plainCell(float c, const Around& v, float r) {
  float sum = In(v[0]);
  for (size_t i = 1; i < v.size(); i++) sum = R(sum + In(v[i]));
  return R(In(c) + R(r * R(sum - R(float(v.size()) * In(c)))));
}
inline float fusedCell(float c, const Around& v, float r) {
  float sum = v[0];
  for (size_t i = 1; i < v.size(); i++) sum += v[i];
  return std::fmaf(r, std::fmaf(-float(v.size()), c, sum), c);
}
/** (1 - n r) c + r sum. */
inline float weightedCell(float c, const Around& v, float r) {
  float sum = 0;
  for (size_t i = v.size(); i-- > 0;) sum += v[i];
  return std::fmaf(r, sum, (1 - float(v.size()) * r) * c);
}
/** c + r sum of (v - c), each difference by itself. */
inline float differencesCell(float c, const Around& v, float r) {
  float sum = 0;
  for (const float x : v) sum += x - c;
  return c + r * sum;
}
/** Second differences of each dimension. */
inline float perDimensionCell(float c, const Around& v, float r) {
  float result = c;
  for (size_t i = 0; i < v.size(); i += 2) result = std::fmaf(r, v[i] - 2 * c + v[i + 1], result);
  return result;
}
inline float exactCell(float c, const Around& v, float r) {
  double sum = 0;
  for (const float x : v) sum += double(x);
  return float(double(c) + double(r) * (sum - double(v.size()) * double(c)));
}
inline float quarterCell(float c, const Around& v, float) { return plainCell(c, v, 0.25f); }
inline float oneMissingCell(float c, const Around& v, float r) {
  Around w = v;
  w.back() = 0;
  return plainCell(c, w, r);
}
template <Rounding R>
float roundedCell(float c, const Around& v, float r) { return R(plainCell(c, v, r)); }

template <float (*CELL)(float, const Around&, float)>
void stencil(const Grid& g, Values& y) { eachCell(g, y, CELL); }

inline std::vector<Variant<Grid>> stencilVariants(cm::Storage elem) {
  std::vector<Variant<Grid>> list = {
      {"exact, rounded once", true, stencil<exactCell>},
      {"origin", true, stencil<plainCell<>>},
      {"fused", true, stencil<fusedCell>},
      {"weighted centre, fused", true, stencil<weightedCell>},
      {"single differences", true, stencil<differencesCell>},
      {"second differences by dimension, fused", true, stencil<perDimensionCell>},
      {"fp16 arithmetic", false, stencil<plainCell<toHalf>>},
      {"bf16 arithmetic", false, stencil<plainCell<toBf16>>},
      {"r = 0.25 always", false, stencil<quarterCell>},
      {"one neighbour missing", false, stencil<oneMissingCell>},
      {"boundary set to zero", false, [](const Grid& g, Values& y) {
         eachCell(g, y, plainCell<>);
         Grid zero = g;
         std::fill(zero.u.begin(), zero.u.end(), 0.0f);
         Values mark(y.size());
         eachCell(zero, mark, [](float, const Around&, float) { return 1.0f; });
         for (size_t i = 0; i < y.size(); i++) y[i] = mark[i] == 1 ? y[i] : 0;
       }},
      {"copy", false, [](const Grid& g, Values& y) { y = g.u; }},
      {"zeros", false, [](const Grid&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"result truncated to bf16", false, stencil<roundedCell<truncateBf16>>});
  } else {
    list.push_back({"input rounded to TF32", false, stencil<plainCell<toFloat, toTf32>>});
    list.push_back({"input rounded to fp16", false, stencil<plainCell<toFloat, toHalf>>});
    list.push_back({"result rounded to TF32", false, stencil<roundedCell<toTf32>>});
  }
  return list;
}

}  // namespace measure
