// The nominal device, and errors.
#include <unistd.h>

#include <cstdio>
#include <cstring>

#include "hostcuda/execution/fibers.h"
#include "hostcuda/hostcuda.h"
#include "hostcuda/runtime/runtime.h"
#include "hostcuda/runtime/switches.h"

namespace hostcuda {
namespace {

std::atomic<int> sticky{cudaSuccess};
thread_local cudaError_t last_error = cudaSuccess;

// So many that a grid-stride loop sized by it does one iteration: on a CPU the others are hostile to the
// cache.
constexpr int kMultiprocessors = 4096;
constexpr int kL2Bytes = 32 << 20;

}  // namespace

cudaError_t sticky_error() { return static_cast<cudaError_t>(sticky.load()); }

void set_sticky_error(cudaError_t error, const std::string& message) {
  int none = cudaSuccess;
  if (sticky.compare_exchange_strong(none, error)) std::fprintf(stderr, "hostcuda: %s\n", message.c_str());
}

cudaError_t report(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

void reset_for_tests() {
  {
    std::lock_guard lock(runtime().mutex);
    for (const auto& capture : runtime().captures) {
      for (cudaStream_t stream : capture->streams) stream->capture = nullptr;
    }
    runtime().captures.clear();
  }
  cudaDeviceSynchronize();
  sticky = cudaSuccess;
  last_error = cudaSuccess;
  release_pool();
  set_threads(0);
  set_thread_order("forward");
  set_async_copies("issue");
  set_poison_shared(false);
  set_poison_memory(false);
  set_memory_limit(0);
  fail_allocation(0);
  fail_launch(0);
}

}  // namespace hostcuda

using hostcuda::report;
using hostcuda::sticky_error;

cudaError_t cudaGetDeviceCount(int* count) {
  hostcuda::switches();  // what is wrong with the environment is told before any work
  if (count == nullptr) return report(cudaErrorInvalidValue);
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  if (device == nullptr) return report(cudaErrorInvalidValue);
  *device = 0;
  return report(sticky_error());
}

cudaError_t cudaSetDevice(int device) {
  return report(device == 0 ? sticky_error() : cudaErrorInvalidDevice);
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* p, int device) {
  if (p == nullptr) return report(cudaErrorInvalidValue);
  if (device != 0) return report(cudaErrorInvalidDevice);
  *p = {};
  std::strcpy(p->name, "hostcuda");
  size_t free_bytes = 0;
  cudaMemGetInfo(&free_bytes, &p->totalGlobalMem);
  p->sharedMemPerBlock = 48 * 1024;
  p->sharedMemPerBlockOptin = p->sharedMemPerMultiprocessor = hostcuda::kMaxDynamicShared;
  p->regsPerBlock = 65536;
  p->warpSize = 32;
  p->maxThreadsPerBlock = p->maxThreadsDim[0] = p->maxThreadsDim[1] = 1024;
  p->maxThreadsDim[2] = 64;
  p->maxGridSize[0] = 2147483647;
  p->maxGridSize[1] = p->maxGridSize[2] = 65535;
  p->major = 8;
  p->multiProcessorCount = hostcuda::kMultiprocessors;
  p->maxThreadsPerMultiProcessor = 2048;
  p->l2CacheSize = hostcuda::kL2Bytes;
  p->memoryBusWidth = 128;
  p->concurrentKernels = p->asyncEngineCount = p->unifiedAddressing = p->integrated =
      p->memoryPoolsSupported = 1;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp p;
  if (value == nullptr) return report(cudaErrorInvalidValue);
  if (cudaError_t error = cudaGetDeviceProperties(&p, device); error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = p.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(p.sharedMemPerBlock);
      break;
    case cudaDevAttrWarpSize:
      *value = p.warpSize;
      break;
    case cudaDevAttrClockRate:
    case cudaDevAttrMemoryClockRate:
      *value = 1000000;
      break;  // kHz, nominal
    case cudaDevAttrMultiProcessorCount:
      *value = p.multiProcessorCount;
      break;
    case cudaDevAttrGlobalMemoryBusWidth:
      *value = p.memoryBusWidth;
      break;
    case cudaDevAttrL2CacheSize:
      *value = p.l2CacheSize;
      break;
    case cudaDevAttrMaxThreadsPerMultiProcessor:
      *value = p.maxThreadsPerMultiProcessor;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = p.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = p.minor;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(p.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrMemoryPoolsSupported:
      *value = p.memoryPoolsSupported;
      break;
    default:
      return report(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  if (version == nullptr) return report(cudaErrorInvalidValue);
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaPeekAtLastError() {
  return sticky_error() != cudaSuccess ? sticky_error() : hostcuda::last_error;
}

cudaError_t cudaGetLastError() {
  cudaError_t error = cudaPeekAtLastError();
  hostcuda::last_error = cudaSuccess;
  return error;
}

namespace {
struct ErrorText {
  cudaError_t code;
  const char *name, *text;
};
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidMemcpyDirection, "cudaErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorIllegalInstruction, "cudaErrorIllegalInstruction", "an illegal instruction was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureMerge, "cudaErrorStreamCaptureMerge",
     "operation would result in a merge of separate capture sequences"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorStreamCaptureImplicit, "cudaErrorStreamCaptureImplicit",
     "operation would make the legacy stream depend on a capturing blocking stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
    {cudaErrorStreamCaptureWrongThread, "cudaErrorStreamCaptureWrongThread",
     "attempt to terminate a thread-local capture sequence from another thread"},
    {cudaErrorUnknown, "cudaErrorUnknown", "unknown error"},
};
const ErrorText* find_error(cudaError_t error) {
  for (const ErrorText& entry : kErrors) {
    if (entry.code == error) return &entry;
  }
  return nullptr;
}
}  // namespace

const char* cudaGetErrorName(cudaError_t error) {
  const ErrorText* found = find_error(error);
  return found != nullptr ? found->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t error) {
  const ErrorText* found = find_error(error);
  return found != nullptr ? found->text : "unrecognized error code";
}
