// Versions of conv_2d for measuring its error constant (dots.h).
#include "dots.h"

using namespace measure;

struct Inputs : Factors {
  Inputs(const cm::Problem& p, uint64_t) {
    const Values input = cm::floats(p.in("input")), kernel = cm::floats(p.in("kernel"));
    const int64_t columns = p.dim("input_cols"), rows = p.dim("kernel_rows"), taps = p.dim("kernel_cols");
    const int64_t outColumns = columns - taps + 1;
    results = (p.dim("input_rows") - rows + 1) * outColumns;
    load = [=](int64_t i, Values& a, Values& b) {
      a.clear();
      for (int64_t r = 0; r < rows; r++) {
        const auto first = input.begin() + (i / outColumns + r) * columns + i % outColumns;
        a.insert(a.end(), first, first + taps);
      }
      b = kernel;
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
