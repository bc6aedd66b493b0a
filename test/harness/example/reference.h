// Example task of the harness tests: y[i] = a * x[i], and s[0] = sum of x.
#pragma once

#include "reference_api.h"

namespace task {

struct Reference {
  explicit Reference(const cm::Problem& p) : x(p.in("x")), a(p.scalar(3)) {
    cm::Sum sum, magnitude;
    for (int64_t i = 0; i < x.size(); i++) sum.add(x[i]), magnitude.add(std::fabs(x[i]));
    total = sum.value(), scale = magnitude.value();
  }
  cm::Ref at(int output, int64_t i) const {
    if (output == 0) return {a * x[i], std::fabs(a * x[i]), 1};
    return {total, scale, double(x.size())};
  }
  cm::View x;
  double a, total = 0, scale = 0;
};

}  // namespace task
