// Versions of conv_1d for measuring its error constant (dots.h).
#include "dots.h"

using namespace measure;

struct Inputs : Factors {
  Inputs(const cm::Problem& p, uint64_t) {
    const Values input = cm::floats(p.in("input")), kernel = cm::floats(p.in("kernel"));
    const int64_t taps = p.dim("kernel_size");
    results = p.dim("input_size") - taps + 1;
    load = [=](int64_t i, Values& a, Values& b) {
      a.assign(input.begin() + i, input.begin() + i + taps);
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
