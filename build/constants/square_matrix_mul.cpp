// Versions of square_matrix_mul for measuring its error constant (dots.h).
#include "dots.h"

using namespace measure;

struct Inputs : Factors {
  Inputs(const cm::Problem& p, uint64_t) {
    const Values left = cm::floats(p.in("A")), right = cm::floats(p.in("B"));
    const int64_t n = p.dim("M");
    results = n * n;
    load = [=](int64_t i, Values& a, Values& b) {
      a.assign(left.begin() + i / n * n, left.begin() + (i / n + 1) * n);
      b.resize(size_t(n));
      for (int64_t j = 0; j < n; j++) b[size_t(j)] = right[size_t(j * n + i % n)];
    };
  }
};

int main() {
  return program<Inputs>([](cm::Storage elem) {
    std::vector<Variant<Inputs>> list;
    for (const Variant<Factors>& v : dotVariants(elem)) list.push_back({v.name, v.correct, v.run});
    return list;
  });
}
