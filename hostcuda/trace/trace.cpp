// Begin and end of a trace.
#include "hostcuda/trace/trace.h"

#include "hostcuda/trace/recorder.h"

namespace hostcuda::trace {

const char* name_of(Kind kind) {
  constexpr const char* kNames[] = {"race",
                                    "uninitialised",
                                    "out of bounds",
                                    "misaligned",
                                    "unfinished copy",
                                    "divergent barrier",
                                    "wrong warp operation",
                                    "other"};
  return kNames[static_cast<int>(kind)];
}

void begin() {
  cudaDeviceSynchronize();
  delete recorder;
  recorder = new Recorder;
  observer = recorder;
}

std::vector<KernelTrace> end() {
  cudaDeviceSynchronize();
  observer = nullptr;
  if (recorder == nullptr) return {};
  std::vector<KernelTrace> traces = recorder->take();
  delete recorder;
  recorder = nullptr;
  return traces;
}

}  // namespace hostcuda::trace
