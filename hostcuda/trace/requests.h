// From what each lane did to what its warp asked of the memory system.
#pragma once

#include <span>
#include <unordered_map>

#include "hostcuda/trace/records.h"
#include "hostcuda/trace/trace.h"

namespace hostcuda::trace {

struct Requests {
  std::unordered_map<Pc, Figures> figures;
  int64_t idle = 0, lanes = 0;  // lanes that sat out, and all, over the requests
  int64_t unpaired = 0, records = 0;

  // Adds what the lanes of one warp did since they last met at a barrier.
  void add_warp(std::span<ThreadLog> lanes);

 private:
  void add_side_by_side(std::span<ThreadLog> lanes, std::span<const int> working);
  void add_diverged(std::span<ThreadLog> lanes, std::span<const int> working);
  void count(std::span<const Record* const> lanes, size_t warp_lanes);
};

}  // namespace hostcuda::trace
