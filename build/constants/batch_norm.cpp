// Versions of batch_norm for measuring its error constant.
#include "normalization.h"

using namespace measure;

struct Features : Groups {
  Features(const cm::Problem& p, uint64_t) {
    x = cm::floats(p.in("input"));
    weight = cm::floats(p.in("gamma"));
    bias = cm::floats(p.in("beta"));
    groups = size_t(p.dim("C"));
    perGroup = true;
    epsilon = realScalars(p).at(0);
  }
};

std::vector<Variant<Features>> variants(cm::Storage elem) {
  std::vector<Variant<Features>> list = {
      {"origin: two passes, one thread", true, normalize<Features, twoPass<inOrder>, centred>},
      {"two passes, one thread, folded", true, normalize<Features, twoPass<inOrder>, folded>},
      {"Welford, one thread", true, normalize<Features, welford<1>, centred>},
  };
  if (elem == cm::Storage::f32)
    list.push_back({"E[x^2] - mean^2, one thread (published)", false, normalize<Features, onePass<inOrder>, centred>});
  for (auto& variant : meanAndVariance<Features>(elem)) list.push_back(variant);
  return list;
}

int main() { return program<Features>(variants); }
