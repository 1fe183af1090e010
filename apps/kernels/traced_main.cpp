// lathe_traced: runs the trials of rungs whose kernels are compiled for tracing, and sends what was seen: of
// each trial (jobs.h) a "kernel" with its trace for each kernel. `lathe kernels trace` starts it and reads
// its lines. Usage: lathe_traced gemm/03_shared_tile:fp32 … 3>events
#include <cstdio>
#include <vector>

#include "apps/kernels/jobs.h"
#include "hostcuda/trace/trace.h"

namespace lathe {
namespace {

// Returns what was wrong with the results, "" where nothing was.
std::string trace(const study::Trial& trial) {
  study::Arrays arrays(trial);
  hostcuda::trace::begin();
  std::exception_ptr refused;
  try {
    trial.launch(arrays.pointers(), nullptr);
  } catch (...) {
    refused = std::current_exception();
  }
  cudaError_t error = cudaGetLastError();
  if (error == cudaSuccess) error = cudaDeviceSynchronize();
  for (const auto& kernel : hostcuda::trace::end()) send("kernel", {{"trace", kernel}});
  if (refused) std::rethrow_exception(refused);
  return error != cudaSuccess ? cudaGetErrorString(error) : arrays.check();
}

}  // namespace
}  // namespace lathe

int main(int count, char** words) {
  try {
    const std::vector<std::string> jobs(words + (count > 0), words + count);
    return lathe::run_jobs(jobs, lathe::study::Purpose::trace, lathe::trace);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "lathe_traced: %s\n", error.what());
    return 1;
  }
}
