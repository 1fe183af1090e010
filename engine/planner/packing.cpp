// Packing lifetimes into one arena; knows nothing of graphs.
#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "engine/planner/planner.h"

namespace lathe {
namespace {

int64_t aligned(int64_t bytes) { return (bytes + kArenaAlignment - 1) / kArenaAlignment * kArenaAlignment; }

bool overlap(const Lifetime& a, const Lifetime& b) { return a.first < b.last && b.first < a.last; }

}  // namespace

int64_t lower_bound(const std::vector<Lifetime>& lifetimes) {
  // Sum of sizes over time changes only where a lifetime begins or ends.
  std::vector<std::pair<int, int64_t>> changes;
  for (const Lifetime& lifetime : lifetimes) {
    if (lifetime.first >= lifetime.last) continue;
    changes.emplace_back(lifetime.first, aligned(lifetime.bytes));
    changes.emplace_back(lifetime.last, -aligned(lifetime.bytes));
  }
  std::sort(changes.begin(), changes.end());  // at one step releases (negative) come first
  int64_t live = 0, most = 0;
  for (const auto& [step, change] : changes) most = std::max(most, live += change);
  return most;
}

Packing pack_greedy(const std::vector<Lifetime>& lifetimes) {
  std::vector<int> order(lifetimes.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    const Lifetime &x = lifetimes[a], &y = lifetimes[b];
    if (x.bytes != y.bytes) return x.bytes > y.bytes;
    return x.last - x.first > y.last - y.first;
  });

  Packing packing{std::vector<int64_t>(lifetimes.size(), 0), 0};
  std::vector<int> placed;
  for (int id : order) {
    std::vector<std::pair<int64_t, int64_t>> taken;  // [begin, end) of buffers that live at the same time
    for (int other : placed) {
      if (!overlap(lifetimes[id], lifetimes[other])) continue;
      taken.emplace_back(packing.offsets[other], packing.offsets[other] + aligned(lifetimes[other].bytes));
    }
    std::sort(taken.begin(), taken.end());
    int64_t offset = 0;
    for (const auto& [begin, end] : taken) {
      if (offset + aligned(lifetimes[id].bytes) <= begin) break;
      offset = std::max(offset, end);
    }
    packing.offsets[id] = offset;
    packing.peak = std::max(packing.peak, offset + aligned(lifetimes[id].bytes));
    placed.push_back(id);
  }
  return packing;
}

Packing pack_naive(const std::vector<Lifetime>& lifetimes) {
  Packing packing;
  for (const Lifetime& lifetime : lifetimes) {
    packing.offsets.push_back(packing.peak);
    packing.peak += aligned(lifetime.bytes);
  }
  return packing;
}

void check_packing(const std::vector<Lifetime>& lifetimes, const Packing& packing) {
  for (size_t a = 0; a < lifetimes.size(); ++a) {
    int64_t begin = packing.offsets.at(a), end = begin + lifetimes[a].bytes;
    if (begin < 0 || begin % kArenaAlignment != 0 || end > packing.peak) {
      throw std::logic_error("memory plan: buffer " + std::to_string(a) + " lies outside the arena");
    }
    for (size_t b = 0; b < a; ++b) {
      int64_t other = packing.offsets[b], other_end = other + lifetimes[b].bytes;
      if (overlap(lifetimes[a], lifetimes[b]) && begin < other_end && other < end) {
        throw std::logic_error("memory plan: buffers " + std::to_string(b) + " and " + std::to_string(a) +
                               " are live together and overlap");
      }
    }
  }
}

}  // namespace lathe
