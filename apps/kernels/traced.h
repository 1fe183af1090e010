// The examination as the commands see it: what lathe_traced reports of each rung.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "apps/kernels/trials.h"
#include "apps/run/console.h"
#include "hostcuda/trace/trace.h"

namespace lathe {

struct TracedTrial : TrialReport {
  std::vector<hostcuda::trace::KernelTrace> kernels = {};
  bool sound() const;  // nothing wrong, no findings
};

// Traces the rungs in lathe_traced. Throws Error(failure) where that is not there, else as run_trials.
// What a rung that crashed had reported is in its trial.
std::vector<TracedTrial> trace_rungs(const std::vector<const study::Rung*>& rungs, Console& console,
                                     bool quiet);

// Of all kernels of a trial, or of one.
struct Summary {
  hostcuda::trace::Figures figures;
  int64_t barriers = 0;
  double idle_lanes = 0;
  explicit Summary(const std::vector<hostcuda::trace::KernelTrace>& kernels);
  double bytes_moved() const;  // global memory, whole sectors
  int64_t shared_requests() const;
  int64_t conflicts() const;        // wavefronts beyond those without a conflict
  double sectors_per_load() const;  // NaN where there are none; so are the next two
  double sectors_per_store() const;
  double wavefronts_per_request() const;
};

nlohmann::ordered_json to_json(const TracedTrial& trial);

// Without namespaces: "gemm_09_wmma<Float16<HalfFormat>, true>".
std::string short_name(std::string kernel);

// "race in gemm_03_shared_tile, block (0,0,0), thread (3,1,0), kernels/gemm/03_shared_tile.cu:41: … (12
// times)"
std::string to_line(const hostcuda::trace::KernelTrace& kernel, const hostcuda::trace::Finding& finding);

}  // namespace lathe
