// Recording of device activity. On the GPU: CUPTI activity records of kernels (graphs node by node), copies and sets, told from
// the harness's own work by the stream. On the host device: one record per call, the call itself.
//
//   start() / stop()       throws CommandError("cupti"); started late on purpose: the wrapper pass runs without CUPTI
//   mark()                 launches the harness's marker; settle() waits until its record has been delivered, which proves
//                          that records still flow and that everything older has arrived
//   now()                  host time on the records' clock, ns
//   closeCall(begin, end)  the window of a call (after the device sync)
//   drain()                classes everything that arrived outside of calls
//   dropped()              records lost so far
//   lastOwn()              newest record of the harness's own stream (measuring peaks)
#pragma once

#if defined(CM_HOST)
#include "activity_host.h"
#else
#include "activity_cuda.h"
#endif
