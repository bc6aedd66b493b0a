// Versions of high_order_contraction for measuring its error constant (dots.h).
#include "dots.h"

using namespace measure;

struct Inputs : Factors {
  Inputs(const cm::Problem& p, uint64_t) {
    const Values left = cm::floats(p.in("A")), right = cm::floats(p.in("B"));
    const int64_t nb = p.dim("b_dim"), nc = p.dim("c_dim"), nx = p.dim("x_dim"), ny = p.dim("y_dim");
    results = p.dim("a_dim") * nb * nc;
    load = [=](int64_t i, Values& a, Values& b) {
      const int64_t c = i % nc, bi = i / nc % nb, ai = i / nc / nb;
      a.clear(), b.clear();
      for (int64_t x = 0; x < nx; x++)
        for (int64_t y = 0; y < ny; y++) {
          a.push_back(left[size_t(((ai * nx + x) * nb + bi) * ny + y)]);
          b.push_back(right[size_t((x * nc + c) * ny + y)]);
        }
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
