// Versions of max_pooling_2d: nothing to measure, but every version that is not exact must be seen.
#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t)
      : x(cm::floats(p.in("input"))), planes(p.dim("N") * p.dim("C")), h(p.dim("H")), w(p.dim("W")), size(p.dim("kernel_size")),
        stride(p.dim("stride")), padding(p.dim("padding")) {}
  Values x;
  int64_t planes, h, w, size, stride, padding;
};

/** start: value before the first element; outside: value of positions outside of the plane; less: windows cut at their end. */
template <Rounding R = toFloat>
void pool(const Inputs& in, Values& y, float start, float outside, int64_t less = 0) {
  const int64_t oh = (in.h + 2 * in.padding - in.size) / in.stride + 1, ow = (in.w + 2 * in.padding - in.size) / in.stride + 1;
  for (int64_t i = 0; i < in.planes * oh * ow; i++) {
    const int64_t plane = i / (oh * ow), row = i / ow % oh * in.stride - in.padding, column = i % ow * in.stride - in.padding;
    float m = start;
    for (int64_t a = row; a < row + in.size - less; a++)
      for (int64_t b = column; b < column + in.size; b++) {
        const bool inside = a >= 0 && a < in.h && b >= 0 && b < in.w;
        m = std::fmax(m, inside ? R(in.x[size_t((plane * in.h + a) * in.w + b)]) : outside);
      }
    y[size_t(i)] = m;
  }
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"maximum", true, [](const Inputs& in, Values& y) { pool(in, y, -INFINITY, -INFINITY); }},
      {"start at -FLT_MAX", true, [](const Inputs& in, Values& y) { pool(in, y, -3.40282347e38f, -INFINITY); }},
      {"start at 0", false, [](const Inputs& in, Values& y) { pool(in, y, 0, -INFINITY); }},
      {"start at -1e30", false, [](const Inputs& in, Values& y) { pool(in, y, -1e30f, -INFINITY); }},
      {"padding counts as 0", false, [](const Inputs& in, Values& y) { pool(in, y, -INFINITY, 0); }},
      {"last row of every window ignored", false, [](const Inputs& in, Values& y) { pool(in, y, -INFINITY, -INFINITY, 1); }},
      {"through fp16", false, [](const Inputs& in, Values& y) { pool<toHalf>(in, y, -INFINITY, -INFINITY); }},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::f32) {
    list.push_back({"through TF32", false, [](const Inputs& in, Values& y) { pool<toTf32>(in, y, -INFINITY, -INFINITY); }});
    list.push_back({"through bf16", false, [](const Inputs& in, Values& y) { pool<toBf16>(in, y, -INFINITY, -INFINITY); }});
  }
  return list;
}

int main() { return program<Inputs>(variants); }
