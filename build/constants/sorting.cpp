// Versions of sorting: bit equality is demanded, so the table shows that sorts agree with the reference and faults do not.
#include <cstring>

#include "measure.h"

using namespace measure;

struct Inputs {
  Inputs(const cm::Problem& p, uint64_t) : x(cm::floats(p.in("data"))) {}
  Values x;
};

void origin(const Inputs& in, Values& y) {
  Values from = in.x, to(in.x.size());
  for (size_t width = 1; width < from.size(); width *= 2, from.swap(to))
    for (size_t begin = 0; begin < from.size(); begin += 2 * width) {
      const size_t middle = std::min(begin + width, from.size()), end = std::min(middle + width, from.size());
      for (size_t i = begin, left = begin, right = middle; i < end; i++)
        to[i] = left < middle && (right >= end || from[left] <= from[right]) ? from[left++] : from[right++];
    }
  y = from;
}

uint32_t bitsOf(float v) {
  uint32_t b;
  memcpy(&b, &v, sizeof b);
  return b;
}
/** By bits, as radix sorts do: negative numbers inverted, the others with the top bit set. */
void byBits(const Inputs& in, Values& y) {
  const auto key = [](float v) { return bitsOf(v) >> 31 ? ~bitsOf(v) : bitsOf(v) | 0x80000000u; };
  y = in.x;
  std::sort(y.begin(), y.end(), [&](float a, float b) { return key(a) < key(b); });
}
void byRawBits(const Inputs& in, Values& y) {
  y = in.x;
  std::sort(y.begin(), y.end(), [](float a, float b) { return int32_t(bitsOf(a)) < int32_t(bitsOf(b)); });
}
void descending(const Inputs& in, Values& y) {
  y = in.x;
  std::sort(y.begin(), y.end(), std::greater<float>());
}
void withoutDuplicates(const Inputs& in, Values& y) {
  Values all = in.x;
  std::sort(all.begin(), all.end());
  const Values once(all.begin(), std::unique(all.begin(), all.end()));
  for (size_t i = 0; i < y.size(); i++) y[i] = once[std::min(i, once.size() - 1)];
}
void lastPassMissing(const Inputs& in, Values& y) {
  y = in.x;
  std::sort(y.begin(), y.begin() + std::ptrdiff_t(y.size() / 2));
  std::sort(y.begin() + std::ptrdiff_t(y.size() / 2), y.end());
}
template <Rounding R>
void rounded(const Inputs& in, Values& y) {
  origin(in, y);
  for (float& v : y) v = R(v);
}

std::vector<Variant<Inputs>> variants(cm::Storage elem) {
  std::vector<Variant<Inputs>> list = {
      {"origin: merge sort", true, origin},
      {"by bits (radix)", true, byBits},
      {"not sorted", false, [](const Inputs& in, Values& y) { y = in.x; }},
      {"by raw bits as integers", false, byRawBits},
      {"descending", false, descending},
      {"duplicates removed", false, withoutDuplicates},
      {"last merge missing", false, lastPassMissing},
      {"numbers rounded to fp16", false, rounded<toHalf>},
      {"zeros", false, [](const Inputs&, Values&) {}},
  };
  if (elem == cm::Storage::f32) list.push_back({"numbers rounded to bf16", false, rounded<toBf16>});
  return list;
}

int main() { return program<Inputs>(variants); }
