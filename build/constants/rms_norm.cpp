// Versions of rms_norm for measuring its error constant.
#include "normalization.h"

using namespace measure;

std::vector<Variant<Vector>> variants(cm::Storage elem) {
  std::vector<Variant<Vector>> list = {
      {"origin: atomics", true, normalize<Vector, meanSquare<byAtomics>, centred>},
      {"256 threads", true, normalize<Vector, meanSquare<byThreads>, centred>},
      {"256 threads, rsqrt.approx, fused", true, normalize<Vector, meanSquare<byThreads, byRsqrt>, centredFused>},
      {"folded into the weight", true, normalize<Vector, meanSquare<byThreads>, folded>},
      {"epsilon outside the root", false, normalize<Vector, meanSquare<byThreads, epsilonOutside>, centred>},
      {"epsilon missing", false, normalize<Vector, meanSquare<byThreads, epsilonMissing>, centred>},
      {"epsilon fixed at 1e-5", false, normalize<Vector, meanSquare<byThreads, epsilonFixed>, centred>},
      {"layer norm", false, normalize<Vector, twoPass<byThreads>, centred>},
      {"sum in fp16", false, normalize<Vector, meanSquare<inFormat<toHalf>>, centred>},
      {"sum in bf16", false, normalize<Vector, meanSquare<inFormat<toBf16>>, centred>},
      {"last element missing in the sum", false, normalize<Vector, meanSquare<withoutLast>, centred>},
  };
  addWrongSteps<Vector, meanSquare<byThreads>>(list, elem);
  return list;
}

int main() { return program<Vector>(variants); }
