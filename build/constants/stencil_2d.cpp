// Versions of stencil_2d for measuring its error constant.
#include "stencils.h"

using namespace measure;

struct Inputs : Grid {
  Inputs(const cm::Problem& p, uint64_t) : Grid(p) {}
};

int main() {
  return program<Inputs>([](cm::Storage elem) {
    std::vector<Variant<Inputs>> list;
    for (const Variant<Grid>& v : stencilVariants(elem)) list.push_back({v.name, v.correct, v.run});
    return list;
  });
}
