// What this GPU reaches: DRAM read, write and copy bandwidth, fp32 FMA rate, span of an empty kernel. Medians of spans from
// activity records; buffers are far larger than L2; the best of a few launch shapes counts, since a peak is an upper bound.
#pragma once

#include "json.h"

#if defined(CM_HOST)
#include "peaks_host.h"
#else
#include "peaks_cuda.h"
#endif
