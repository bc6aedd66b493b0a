// Element-wise work shared by the GPU and the host device: bodies for dev::forEach(count, body).
#pragma once

#include "generators.h"

namespace cm {

/** Counters that bodies report through; lives in device memory. */
struct Tally {
  unsigned long long count;
  unsigned long long first;
};
constexpr unsigned long long kNone = ~0ull;

CM_HD inline void note(Tally* t, unsigned long long position) {
#if defined(__CUDA_ARCH__)
  atomicAdd(&t->count, 1ull);
  atomicMin(&t->first, position);
#else
  t->count++;
  if (position < t->first) t->first = position;
#endif
}

struct GenerateBody {
  void* data;
  Storage elem;
  Generator gen;
  uint64_t key;
  CM_HD void operator()(int64_t i) const { storeRaw(elem, data, i, generateRaw(gen, key, elem, i)); }
};

/** Elements that differ from what the generator makes. */
struct CompareBody {
  const void* data;
  Storage elem;
  Generator gen;
  uint64_t key;
  Tally* tally;
  CM_HD void operator()(int64_t i) const {
    if (loadRaw(elem, data, i) != generateRaw(gen, key, elem, i)) note(tally, (unsigned long long)(i));
  }
};

/** Poison: all bits one (NaN as f32 and bf16, -1 as i32). */
struct PoisonBody {
  void* data;
  Storage elem;
  CM_HD void operator()(int64_t i) const { storeRaw(elem, data, i, 0xffffffffu); }
};

/** Guard pattern; position 0 is the byte next to the data (`step` is +1 behind the data, -1 before it). */
struct GuardBody {
  uint8_t* next;
  int step;
  uint64_t key;
  CM_HD void operator()(int64_t i) const { next[i * step] = guardByte(key, i); }
};

struct GuardCheckBody {
  const uint8_t* next;
  int step;
  uint64_t key;
  Tally* tally;
  CM_HD void operator()(int64_t i) const {
    if (next[i * step] != guardByte(key, i)) note(tally, (unsigned long long)(i));
  }
};

struct GatherBody {
  const void* data;
  Storage elem;
  const uint64_t* positions;
  void* out;
  CM_HD void operator()(int64_t i) const { storeRaw(elem, out, i, loadRaw(elem, data, int64_t(positions[i]))); }
};

}  // namespace cm
