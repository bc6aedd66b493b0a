// Versions of hinge_loss for measuring its error constant.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : predictions(cm::floats(p.in("predictions"))), targets(cm::ints(p.in("targets"))) {}
  Values predictions;
  std::vector<int32_t> targets;
};

/** Prediction rounded by F, loss by P. */
template <Rounding F = toFloat, Rounding P = toFloat>
void losses(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) {
    const float label = in.targets[i] == 1 ? 1.0f : -1.0f;
    y[i] = P(std::fmax(0.0f, 1.0f - label * F(in.predictions[i])));
  }
}
void fused(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++)
    y[i] = std::fmax(0.0f, std::fmaf(in.targets[i] == 1 ? -1.0f : 1.0f, in.predictions[i], 1.0f));
}
void signOfTarget(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) y[i] = std::fmax(0.0f, 1.0f - float(in.targets[i]) * in.predictions[i]);
}
void squared(const Inputs& in, Values& y) {
  losses<>(in, y);
  for (float& v : y) v *= v;
}
void notClipped(const Inputs& in, Values& y) {
  for (size_t i = 0; i < y.size(); i++) y[i] = 1.0f - (in.targets[i] == 1 ? 1.0f : -1.0f) * in.predictions[i];
}
void published(const Inputs& in, Values& y) {
  losses<>(in, y);
  for (size_t i = 1024; i < y.size(); i++) y[i] = NAN;
}
void lastMissing(const Inputs& in, Values& y) {
  losses<>(in, y);
  y.back() = NAN;
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin", true, losses<>},
      {"fused", true, fused},
      {"target 0 taken as label 0", false, signOfTarget},
      {"squared", false, squared},
      {"not clipped at 0", false, notClipped},
      {"published: first 1024 samples only", false, published},
      {"last sample not written", false, lastMissing},
      {"losses rounded to fp16", false, losses<toFloat, toHalf>},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::bf16) {
    list.push_back({"losses truncated to bf16", false, losses<toFloat, truncateBf16>});
  } else {
    list.push_back({"predictions rounded to TF32", false, losses<toTf32>});
    list.push_back({"predictions rounded to fp16", false, losses<toHalf>});
    list.push_back({"losses rounded to bf16", false, losses<toFloat, toBf16>});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
