// See measure.h.
#include "apps/kernels/measure.h"

#include <cuda_runtime.h>

#include <algorithm>
#include <cmath>

#include "engine/runtime/error.h"

namespace lathe {
namespace {

void check(cudaError_t error) {
  if (error != cudaSuccess) throw Error(ExitCode::failure, cudaGetErrorString(error));
}

struct Event {
  cudaEvent_t event = nullptr;
  Event() { check(cudaEventCreate(&event)); }
  ~Event() { cudaEventDestroy(event); }
};

using Launch = decltype(study::Trial::launch);

// Seconds of `launches` launches, one after the other.
double seconds_of(const Launch& launch, const study::Arrays& arrays, int launches) {
  Event begin, end;
  check(cudaEventRecord(begin.event, nullptr));
  for (int i = 0; i < launches; ++i) launch(arrays.pointers(), nullptr);
  check(cudaGetLastError());
  check(cudaEventRecord(end.event, nullptr));
  check(cudaEventSynchronize(end.event));
  float milliseconds = 0;
  check(cudaEventElapsedTime(&milliseconds, begin.event, end.event));
  return milliseconds / 1e3;
}

// Warmed up; the launches that make a sample.
int launches_of(const Launch& launch, const study::Arrays& arrays) {
  seconds_of(launch, arrays, 1);  // loads the code
  const double once = std::max(1e-7, seconds_of(launch, arrays, 2) / 2);
  const int launches = static_cast<int>(std::clamp(2e-3 / once, 1.0, 1000.0));
  seconds_of(launch, arrays, launches);  // raises the clocks
  return launches;
}

}  // namespace

Measured measure(const study::Trial& trial, int samples) {
  const study::Arrays arrays(trial);
  Measured found;
  int library_launches = 0;
  try {
    if (trial.library) library_launches = launches_of(trial.library, arrays);
  } catch (const std::runtime_error& error) {
    found.library_problem = error.what();
  }
  const int launches = launches_of(trial.launch, arrays);
  for (int i = 0; i < samples; ++i) {
    found.rung.push_back(seconds_of(trial.launch, arrays, launches) / launches);
    if (library_launches > 0)
      found.library.push_back(seconds_of(trial.library, arrays, library_launches) / library_launches);
  }
  return found;
}

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const size_t n = values.size();
  return n == 0 ? std::nan("") : (values[(n - 1) / 2] + values[n / 2]) / 2;
}

double spread(std::vector<double> values) {
  if (values.empty()) return std::nan("");
  std::ranges::sort(values);
  return (values[values.size() * 3 / 4] - values[values.size() / 4]) / median(values);
}

}  // namespace lathe
