// Part of each version's library: errors of its launches are known only to the CUDA runtime that it is linked with.
#if defined(CM_HOST)
extern "C" const char* cm_last_error() { return nullptr; }
#else
#include <cuda_runtime_api.h>

/** Name of the last error of this library's own runtime, which is cleared; null: none. */
extern "C" const char* cm_last_error() {
  const cudaError_t e = cudaGetLastError();
  return e == cudaSuccess ? nullptr : cudaGetErrorString(e);
}
#endif
