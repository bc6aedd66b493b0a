// Counter-based input generators: value i of a buffer is a pure function of (seed, buffer ordinal, i).
//
// The same code runs on host and GPU and gives the same bits on both: random bits come from 64-bit integer mixing, the few
// floating-point steps are single IEEE double operations (never contracted to an FMA: explicit intrinsics on the device,
// -ffp-contract=off on the host), and the final rounding to the stored type is integer code.
#pragma once

#include <cstdint>
#include <cstring>

#if defined(__CUDACC__)
#define CM_HD __host__ __device__
#else
#define CM_HD
#endif

namespace cm {

/** How an element is stored. */
enum class Storage : int { f32 = 0, bf16 = 1, i32 = 2 };

CM_HD inline int bytesOf(Storage s) { return s == Storage::bf16 ? 2 : 4; }

enum class Kind : int { none, uniform, wide, levels, zeros, integer, offsetsEven, offsetsSkewed, rowsEven, rowsSkewed, ellMixed, ellSkewed };

/**
 * Parameters of a generator, plain data (passed by value to kernels).
 * uniform: lo, hi · wide: a = LOEXP, b = HIEXP · levels: lo, hi, a = LEVELS · integer: a = LO, b = HI (exclusive)
 * offsets: a = ROWS, b = NNZ, c = EVERY · rows: the same, d = 1 shuffled.
 * ell: a = ROWS, b = NNZ, c = EVERY, d = WIDTH; inner = kind of the entries, with lo, hi and e, f for its a, b.
 */
struct Generator {
  Kind kind = Kind::none;
  double lo = 0, hi = 0;
  int64_t a = 0, b = 0, c = 0, d = 0, e = 0, f = 0;
  Kind inner = Kind::none;
};

// ---------------------------------------------------------------------------------------------- bits

/** Finaliser of SplitMix64: a bijection on 64 bits in which every input bit reaches every output bit. */
CM_HD inline uint64_t mix64(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
  return z ^ (z >> 31);
}

constexpr uint64_t kGolden = 0x9e3779b97f4a7c15ull;

/** Key of one buffer's stream. Ordinals 0.. are buffers; guard patterns use ordinals from 1 << 20. */
CM_HD inline uint64_t streamKey(uint64_t seed, uint64_t ordinal) { return mix64(mix64(seed + kGolden) + (ordinal + 1) * kGolden); }

/** 64 random bits number i of a stream. */
CM_HD inline uint64_t randomBits(uint64_t key, uint64_t i) { return mix64(key + (i + 1) * kGolden); }

CM_HD inline uint64_t bitsOfDouble(double v) {
  uint64_t b;
  memcpy(&b, &v, sizeof b);
  return b;
}
CM_HD inline double doubleOfBits(uint64_t b) {
  double v;
  memcpy(&v, &b, sizeof v);
  return v;
}

// ------------------------------------------------------------------- single IEEE double operations

#if defined(__CUDA_ARCH__)
CM_HD inline double addRn(double a, double b) { return __dadd_rn(a, b); }
CM_HD inline double mulRn(double a, double b) { return __dmul_rn(a, b); }
CM_HD inline double divRn(double a, double b) { return __ddiv_rn(a, b); }
#else
CM_HD inline double addRn(double a, double b) { return a + b; }
CM_HD inline double mulRn(double a, double b) { return a * b; }
CM_HD inline double divRn(double a, double b) { return a / b; }
#endif

// ------------------------------------------------------------------------------------------- rounding

/**
 * Rounds a double to a binary format with 8 exponent bits and MANTISSA fraction bits (23: float, 7: bfloat16), to nearest,
 * ties to even, in one rounding; returns the format's bits. Subnormals are kept, overflow gives infinity, NaN a quiet NaN.
 */
template <int MANTISSA>
CM_HD inline uint32_t roundToBits(double v) {
  const uint64_t bits = bitsOfDouble(v);
  const uint32_t sign = uint32_t(bits >> 63) << (MANTISSA + 8);
  // Normal in both formats, as nearly all values are: half of the last place is added (less one unit if the last bit is even), and a
  // carry runs into the exponent, up to infinity. The judge spends most of its time here.
  const uint64_t size = bits & ~(1ull << 63), least = uint64_t(1023 - 126) << 52, beyond = uint64_t(1023 + 128) << 52;
  if (size >= least && size < beyond) {
    constexpr int drop = 52 - MANTISSA;
    const uint64_t rounded = size + ((1ull << (drop - 1)) - 1) + ((size >> drop) & 1);
    return sign | uint32_t((rounded >> drop) - (uint64_t(1023 - 127) << MANTISSA));
  }
  const uint32_t infinity = 0xffu << MANTISSA;
  const int field = int((bits >> 52) & 0x7ff);
  const uint64_t fraction = bits & ((1ull << 52) - 1);
  if (field == 0x7ff) return sign | infinity | (fraction ? 1u << (MANTISSA - 1) : 0u);
  if (field == 0) return sign;  // zero, and double subnormals far below the smallest float
  const uint64_t significand = fraction | (1ull << 52);
  const int exponent = field - 1023;
  int shift = 52 - MANTISSA;
  if (exponent < -126) shift += -126 - exponent;
  if (shift > 53) return sign;  // below half of the smallest subnormal
  uint64_t kept = significand >> shift;
  const uint64_t rest = significand & ((1ull << shift) - 1);
  const uint64_t half = 1ull << (shift - 1);
  if (rest > half || (rest == half && (kept & 1))) kept++;
  // `kept` holds the hidden bit, which adds one to the exponent field; a carry moves into the field by itself.
  const uint64_t biased = exponent < -126 ? 0 : uint64_t(exponent + 126);
  const uint64_t magnitude = (biased << MANTISSA) + kept;
  return sign | (magnitude >= infinity ? infinity : uint32_t(magnitude));
}

/** Raw stored bits of a value (low 16 bits for bf16; two's complement of the truncated value for i32). */
CM_HD inline uint32_t encode(Storage s, double v) {
  if (s == Storage::f32) return roundToBits<23>(v);
  if (s == Storage::bf16) return roundToBits<7>(v);
  return uint32_t(int32_t(int64_t(v)));
}

/** Value of raw stored bits, exact. */
CM_HD inline double decode(Storage s, uint32_t raw) {
  if (s == Storage::i32) return double(int32_t(raw));
  const uint32_t bits = s == Storage::f32 ? raw : raw << 16;
  float v;
  memcpy(&v, &bits, sizeof v);
  return double(v);
}

CM_HD inline uint32_t loadRaw(Storage s, const void* data, int64_t i) {
  return s == Storage::bf16 ? uint32_t(static_cast<const uint16_t*>(data)[i]) : static_cast<const uint32_t*>(data)[i];
}
CM_HD inline void storeRaw(Storage s, void* data, int64_t i, uint32_t raw) {
  if (s == Storage::bf16) static_cast<uint16_t*>(data)[i] = uint16_t(raw);
  else static_cast<uint32_t*>(data)[i] = raw;
}

// ------------------------------------------------------------------------------------------ generators

/** k on the 2^24 grid: lo + (hi - lo) * k / 2^24, each step one rounding. */
CM_HD inline double onGrid(double lo, double hi, uint64_t bits) {
  const double unit = double(uint32_t(bits >> 40)) * (1.0 / 16777216.0);  // exact
  return addRn(lo, mulRn(addRn(hi, -lo), unit));
}

/** Sign * 2^e * (1 + m / 2^23), e uniform in [loExp, hiExp). */
CM_HD inline double wideValue(int64_t loExp, int64_t hiExp, uint64_t bits) {
  const uint64_t range = uint64_t(hiExp - loExp);
  const int64_t e = loExp + int64_t(((bits >> 48) * range) >> 16);
  const uint64_t mantissa = (bits >> 8) & 0x7fffff;
  return doubleOfBits(((bits & 1) << 63) | (uint64_t(e + 1023) << 52) | (mantissa << 29));
}

CM_HD inline double levelValue(const Generator& g, uint64_t bits) {
  if (g.a <= 1) return g.lo;
  const uint64_t level = ((bits >> 32) * uint64_t(g.a)) >> 32;
  return addRn(g.lo, divRn(mulRn(addRn(g.hi, -g.lo), double(level)), double(g.a - 1)));
}

/** One in four: uniform in [-1, 1); otherwise +0 or -0. */
CM_HD inline double zeroOrValue(uint64_t bits) {
  if ((bits & 3) == 0) return onGrid(-1.0, 1.0, bits);
  return doubleOfBits(((bits >> 2) & 1) << 63);
}

/** First entry of part i when `total` entries are spread over `parts`: the first total % parts get one more. */
CM_HD inline int64_t evenOffset(int64_t i, int64_t parts, int64_t total) {
  if (parts <= 0) return 0;
  const int64_t each = total / parts, more = total % parts;
  return i * each + (i < more ? i : more);
}

/** Offset i of 0..rows. Skewed: rows 0, every, 2*every … hold all entries, spread evenly over them. */
CM_HD inline int64_t rowOffset(const Generator& g, int64_t i) {
  if (g.kind == Kind::offsetsEven) return evenOffset(i, g.a, g.b);
  const int64_t heavyRows = (g.a + g.c - 1) / g.c;
  const int64_t heavyBefore = (i + g.c - 1) / g.c;
  return evenOffset(heavyBefore, heavyRows, g.b);
}

/** Part in which entry k lies: the inverse of evenOffset, for 0 <= k < total. */
CM_HD inline int64_t evenPart(int64_t k, int64_t parts, int64_t total) {
  if (parts <= 0) return 0;
  const int64_t each = total / parts, more = total % parts, long_ = more * (each + 1);
  return k < long_ ? k / (each + 1) : more + (each > 0 ? (k - long_) / each : 0);
}

/** A keyed permutation of 0 .. count-1: rounds of odd factors and shifts on the next power of two, walked until inside. */
class Shuffle {
 public:
  CM_HD Shuffle(uint64_t key, int64_t count) : count_(uint64_t(count)) {
    int bits = 0;
    while ((1ull << bits) < count_) bits++;
    mask_ = (1ull << bits) - 1;
    shift_ = bits > 1 ? (bits + 1) / 2 : 1;
    for (int r = 0; r < kRounds; r++) round_[r] = mix64(key + uint64_t(r + 1) * kGolden);
  }
  /** Where element i goes. */
  CM_HD int64_t to(int64_t i) const {
    uint64_t x = uint64_t(i);
    do {
      for (int r = 0; r < kRounds; r++) {
        x = (x * (round_[r] | 1) + (round_[r] >> 32)) & mask_;
        x ^= x >> shift_;
      }
    } while (x >= count_);
    return int64_t(x);
  }
  /** Which element went to p. */
  CM_HD int64_t from(int64_t p) const {
    uint64_t x = uint64_t(p);
    do {
      for (int r = kRounds - 1; r >= 0; r--) {
        x ^= x >> shift_;  // its own inverse: two shifts leave nothing
        x = ((x - (round_[r] >> 32)) * inverse(round_[r] | 1)) & mask_;
      }
    } while (x >= count_);
    return int64_t(x);
  }

 private:
  static constexpr int kRounds = 4;
  /** Inverse of an odd number modulo 2^64: each step doubles the number of correct bits, three at first. */
  CM_HD static uint64_t inverse(uint64_t odd) {
    uint64_t x = odd;
    for (int step = 0; step < 5; step++) x *= 2 - odd * x;
    return x;
  }
  uint64_t count_, mask_, round_[kRounds];
  int shift_;
};

/** Row of entry p of a list in order of rows. */
CM_HD inline int64_t rowInOrder(const Generator& g, int64_t p) {
  if (g.kind == Kind::rowsEven) return evenPart(p, g.a, g.b);
  return g.c * evenPart(p, (g.a + g.c - 1) / g.c, g.b);
}

/** Row of entry i of a list of NNZ entries; shuffled lists hold the same rows in another order. */
CM_HD inline int64_t rowOfEntry(const Generator& g, uint64_t key, int64_t i) {
  if (i >= g.b) return 0;
  return rowInOrder(g, g.d ? Shuffle(key, g.b).to(i) : i);
}

/** Entries of row r of an ELL matrix; the same in every buffer and for every seed. */
CM_HD inline int64_t ellLength(const Generator& g, int64_t r) {
  if (g.kind == Kind::ellSkewed) return r % g.c == 0 ? g.d : 0;
  const int64_t each = g.b / g.a, more = g.b % g.a, mine = each + (r < more ? 1 : 0);
  const int64_t pair = r / 2, other = r ^ 1;
  if (other >= g.a) return mine;
  // Rows of a pair exchange some entries, so that lengths vary and the total stays NNZ.
  const uint64_t bits = mix64(uint64_t(pair + 1) * kGolden);
  const bool gains = (r & 1) == int64_t(bits & 1);
  const int64_t theirs = each + (other < more ? 1 : 0);
  const int64_t above = g.d - (gains ? mine : theirs), below = gains ? theirs : mine;
  const int64_t room = above < below ? above : below;
  if (room <= 0) return mine;
  const int64_t moved = int64_t(((bits >> 32) * uint64_t(room + 1)) >> 32);
  return gains ? mine + moved : mine - moved;
}

CM_HD inline double generate(const Generator& g, uint64_t key, int64_t i);

/** Place i of a row-major ELL matrix: an entry, or behind the row's entries the padding (-1 for integers, else 0). */
CM_HD inline double ellValue(const Generator& g, uint64_t key, int64_t i) {
  const int64_t row = i / g.d;
  if (i - row * g.d >= ellLength(g, row)) return g.inner == Kind::integer ? -1.0 : 0.0;
  Generator entry;
  entry.kind = g.inner;
  entry.lo = g.lo, entry.hi = g.hi, entry.a = g.e, entry.b = g.f;
  return generate(entry, key, i);
}

/** Value i before rounding to the stored type; integers are exact. */
CM_HD inline double generate(const Generator& g, uint64_t key, int64_t i) {
  const uint64_t bits = randomBits(key, uint64_t(i));
  switch (g.kind) {
    case Kind::uniform: return onGrid(g.lo, g.hi, bits);
    case Kind::wide: return wideValue(g.a, g.b, bits);
    case Kind::levels: return levelValue(g, bits);
    case Kind::zeros: return zeroOrValue(bits);
    case Kind::integer: return double(g.a + int64_t(((bits >> 32) * uint64_t(g.b - g.a)) >> 32));
    case Kind::offsetsEven:
    case Kind::offsetsSkewed: return double(rowOffset(g, i));
    case Kind::rowsEven:
    case Kind::rowsSkewed: return double(rowOfEntry(g, key, i));
    case Kind::ellMixed:
    case Kind::ellSkewed: return ellValue(g, key, i);
    default: return 0.0;
  }
}

/** Raw stored bits of element i. */
CM_HD inline uint32_t generateRaw(const Generator& g, uint64_t key, Storage s, int64_t i) { return encode(s, generate(g, key, i)); }

/** Byte i of a guard zone; differs with seed, buffer and side. */
CM_HD inline uint8_t guardByte(uint64_t key, int64_t i) { return uint8_t(randomBits(key, uint64_t(i >> 3)) >> ((i & 7) * 8)); }

CM_HD inline uint64_t guardKey(uint64_t seed, uint64_t buffer, int side) { return streamKey(seed, (1ull << 20) + 2 * buffer + uint64_t(side)); }

}  // namespace cm
