// Versions of matrix_vector_mul for measuring its error constant (dots.h).
#include "dots.h"

using namespace measure;

struct Inputs : Factors {
  Inputs(const cm::Problem& p, uint64_t) {
    const Values matrix = cm::floats(p.in("A")), x = cm::floats(p.in("x"));
    const size_t n = x.size();
    results = p.dim("M");
    load = [=](int64_t i, Values& a, Values& b) {
      a.assign(matrix.begin() + i * int64_t(n), matrix.begin() + (i + 1) * int64_t(n));
      b = x;
    };
  }
};

int main() {
  return program<Inputs>([](cm::Storage elem) {
    std::vector<Variant<Inputs>> list;
    for (const Variant<Factors>& v : dotVariants(elem, false)) list.push_back({v.name, v.correct, v.run});
    return list;
  });
}
