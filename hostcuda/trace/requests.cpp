// Lanes whose paths are equal are paired position by position. Lanes that diverged are paired by where they
// are: the address of the code together with how often each loop around it has come round. Pairing by how
// often an instruction was executed would be wrong: lanes with different trip counts of an inner loop would
// meet in different rounds of the outer one.
#include "hostcuda/trace/requests.h"

#include <algorithm>
#include <array>
#include <bit>
#include <bitset>

namespace hostcuda::trace {
namespace {

constexpr uint64_t kSector = 32, kWord = 4, kBanks = 32;
constexpr size_t kWarpLanes = 32;

uint64_t divide_up(uint64_t a, uint64_t b) { return (a + b - 1) / b; }

// Distinct units of `unit` bytes that the lanes touch. Addresses mostly rise with the lane: then no sorting.
size_t distinct_units(std::span<const Record* const> lanes, uint64_t unit) {
  const auto shift = static_cast<unsigned>(std::countr_zero(unit));
  std::array<uint64_t, kWarpLanes * 16> units;
  size_t n = 0;
  bool rising = true;
  for (const Record* lane : lanes) {
    const uint64_t last = (lane->address + lane->bytes - 1) >> shift;
    for (uint64_t u = lane->address >> shift; u <= last; ++u) {
      if (n != 0 && units[n - 1] == u) continue;
      rising = rising && (n == 0 || units[n - 1] < u);
      units[n++] = u;
    }
  }
  if (rising) return n;
  std::sort(units.begin(), units.begin() + static_cast<long>(n));
  return static_cast<size_t>(std::unique(units.begin(), units.begin() + static_cast<long>(n)) -
                             units.begin());
}

// Whether lane i reads the i-th of neighbouring elements.
bool side_by_side(std::span<const Record* const> lanes) {
  const uint64_t first = lanes[0]->address, bytes = lanes[0]->bytes;
  for (size_t i = 1; i < lanes.size(); ++i) {
    if (lanes[i]->address != first + i * bytes) return false;
  }
  return true;
}

bool all_the_same(std::span<const Record* const> lanes) {
  return std::all_of(lanes.begin(), lanes.end(),
                     [&](const Record* lane) { return lane->address == lanes[0]->address; });
}

// The most words that one bank has to deliver; each word is delivered once, to any number of lanes.
uint64_t passes(std::span<const Record* const> lanes, size_t* words) {
  std::array<std::array<uint64_t, kWarpLanes>, kBanks> banks;
  std::array<uint8_t, kBanks> used{};
  size_t most = 0;
  *words = 0;
  for (const Record* lane : lanes) {
    const uint64_t last = (lane->address + lane->bytes - 1) / kWord;
    for (uint64_t word = lane->address / kWord; word <= last; ++word) {
      auto& bank = banks[word % kBanks];
      uint8_t& n = used[word % kBanks];
      if (std::find(bank.begin(), bank.begin() + n, word) != bank.begin() + n) continue;
      bank[n++] = word;
      ++*words;
      most = std::max<size_t>(most, n);
    }
  }
  return most;
}

// Shared memory serves 128 bytes a pass: wider accesses go by half and quarter warps.
void count_shared(std::span<const Record* const> lanes, Traffic& traffic) {
  const uint64_t bytes = lanes[0]->bytes;
  const size_t group = bytes <= 4 ? 32 : bytes <= 8 ? 16 : 8;
  if (lanes.size() <= group && ((bytes == kWord && side_by_side(lanes)) || all_the_same(lanes))) {
    traffic.moved += 1, traffic.ideal += 1;
    return;
  }
  for (size_t i = 0; i < lanes.size(); i += group) {
    size_t words = 0;
    traffic.moved +=
        static_cast<int64_t>(passes(lanes.subspan(i, std::min(group, lanes.size() - i)), &words));
    traffic.ideal += static_cast<int64_t>(divide_up(words, kBanks));
  }
}

void count_global(std::span<const Record* const> lanes, Traffic& traffic) {
  const uint64_t bytes = lanes[0]->bytes;
  if (side_by_side(lanes)) {
    const uint64_t first = lanes[0]->address, total = bytes * lanes.size();
    traffic.moved += static_cast<int64_t>((first + total - 1) / kSector - first / kSector + 1);
    traffic.ideal += static_cast<int64_t>(divide_up(total, kSector));
    return;
  }
  traffic.moved += static_cast<int64_t>(distinct_units(lanes, kSector));
  traffic.ideal += static_cast<int64_t>(divide_up(distinct_units(lanes, bytes) * bytes, kSector));
}

// The loops of the code that the lanes of a warp ran, told from their steps between basic blocks: a step back
// to a block that every way to where it comes from leads through is a loop around that block, its head.
class Loops {
 public:
  void learn(const std::vector<Pc>& path) {
    size_t before = 0;
    for (Pc step : path) {
      if (step & ThreadLog::kAccess) continue;
      const size_t block = number_of(step);
      if (!next_[before].test(block)) next_[before].set(block);
      before = block;
    }
  }

  void find_loops() {
    for (size_t from = 1; from < next_.size(); ++from) {
      for (size_t head = 1; head < next_.size(); ++head) {
        if (!next_[from].test(head) || (from != head && reachable(0, head).test(from))) continue;
        add_loop(head, from);
      }
    }
  }

  // Where a lane is: changes with every round of every loop around it.
  class Position {
   public:
    explicit Position(const Loops& loops) : loops_(loops), rounds_(loops.loops_.size()) {}
    void enter(Pc step) {
      const size_t block = loops_.numbers_.at(step);
      hash_ = 0;
      for (size_t i = 0; i < rounds_.size(); ++i) {
        const Loop& loop = loops_.loops_[i];
        if (!loop.body.test(block)) {
          rounds_[i] = 0;
        } else if (block == loop.head) {
          rounds_[i] = loop.body.test(before_) ? rounds_[i] + 1 : 0;
        }
        if (rounds_[i] != 0) hash_ = (hash_ ^ (rounds_[i] << 16 | i)) * 0x9e3779b97f4a7c15ull;
      }
      before_ = block;
    }
    uint64_t hash() const { return hash_; }

   private:
    const Loops& loops_;
    std::vector<uint64_t> rounds_;
    size_t before_ = 0;
    uint64_t hash_ = 0;
  };

 private:
  static constexpr size_t kMostBlocks = 1024;  // further ones count as one
  using Blocks = std::bitset<kMostBlocks>;
  struct Loop {
    size_t head;
    Blocks body;
  };

  // Block 0 is where the lanes were when the path began.
  size_t number_of(Pc step) {
    auto [it, fresh] = numbers_.try_emplace(step, std::min(next_.size(), kMostBlocks - 1));
    if (fresh && next_.size() < kMostBlocks) next_.emplace_back();
    return it->second;
  }

  // What can be reached from `start` without passing `without`.
  Blocks reachable(size_t start, size_t without) const {
    Blocks seen;
    std::vector<size_t> open = {start};
    seen.set(start);
    while (!open.empty()) {
      const size_t block = open.back();
      open.pop_back();
      for (size_t to = 0; to < next_.size(); ++to) {
        if (to == without || !next_[block].test(to) || seen.test(to)) continue;
        seen.set(to);
        open.push_back(to);
      }
    }
    return seen;
  }

  // The loop's body: what leads to `from` without passing the head.
  void add_loop(size_t head, size_t from) {
    auto loop =
        std::find_if(loops_.begin(), loops_.end(), [&](const Loop& known) { return known.head == head; });
    if (loop == loops_.end()) loop = loops_.insert(loop, Loop{head, Blocks().set(head)});
    std::vector<size_t> open = {from};
    while (!open.empty()) {
      const size_t block = open.back();
      open.pop_back();
      if (loop->body.test(block)) continue;
      loop->body.set(block);
      for (size_t before = 1; before < next_.size(); ++before) {
        if (next_[before].test(block)) open.push_back(before);
      }
    }
  }

  std::unordered_map<Pc, size_t> numbers_;
  std::vector<Blocks> next_{1};
  std::vector<Loop> loops_;
};

}  // namespace

void Requests::count(std::span<const Record* const> lanes, size_t warp_lanes) {
  const Record& first = *lanes[0];
  Figures& all = figures[first.pc];
  this->lanes += static_cast<int64_t>(warp_lanes);
  idle += static_cast<int64_t>(warp_lanes - lanes.size());
  if (first.kind == Access::atomic) {
    all.atomics += static_cast<int64_t>(lanes.size());
    return;
  }
  const bool read = first.kind == Access::read;
  Traffic& traffic = first.space == Space::global ? (read ? all.global_load : all.global_store)
                                                  : (read ? all.shared_load : all.shared_store);
  ++traffic.requests;
  traffic.lanes += static_cast<int64_t>(lanes.size());
  traffic.bytes += static_cast<int64_t>(lanes.size() * first.bytes);
  if (first.space == Space::global) {
    count_global(lanes, traffic);
  } else {
    count_shared(lanes, traffic);
  }
}

void Requests::add_warp(std::span<ThreadLog> lanes) {
  std::array<int, kWarpLanes> list;
  size_t n = 0;
  for (size_t i = 0; i < lanes.size(); ++i) {
    if (!lanes[i].records.empty()) list[n++] = static_cast<int>(i);
  }
  const std::span<const int> working(list.data(), n);
  for (int i : working) records += static_cast<int64_t>(lanes[i].records.size());
  const bool equal = std::all_of(working.begin(), working.end(), [&](int i) {
    const ThreadLog &a = lanes[list[0]], &b = lanes[i];
    return a.path == b.path;
  });
  if (n != 0) equal ? add_side_by_side(lanes, working) : add_diverged(lanes, working);
  for (ThreadLog& lane : lanes) lane.clear();
}

void Requests::add_side_by_side(std::span<ThreadLog> lanes, std::span<const int> working) {
  const size_t n = lanes[working[0]].records.size();
  std::array<const Record*, kWarpLanes> request;
  for (size_t at = 0; at < n; ++at) {
    for (Space space : {Space::global, Space::shared}) {  // one pointer may lead some lanes elsewhere
      size_t count_of = 0;
      for (int i : working) {
        const Record& record = lanes[i].records[at];
        if (record.space == space) request[count_of++] = &record;
      }
      if (count_of != 0) count({request.data(), count_of}, lanes.size());
    }
  }
}

void Requests::add_diverged(std::span<ThreadLog> lanes, std::span<const int> working) {
  struct Group {
    std::array<const Record*, kWarpLanes> lanes;
    size_t n = 0;
    int last_lane = -1;
  };
  Loops loops;
  for (int i : working) loops.learn(lanes[i].path);
  loops.find_loops();
  std::unordered_map<uint64_t, Group> groups;
  for (int i : working) {
    Loops::Position position(loops);
    size_t at = 0;
    for (Pc step : lanes[i].path) {
      if ((step & ThreadLog::kAccess) == 0) {
        position.enter(step);
        continue;
      }
      const Record& record = lanes[i].records[at++];
      uint64_t key = position.hash() ^ (uint64_t{record.pc} << 8 | static_cast<uint64_t>(record.kind) << 4 |
                                        static_cast<uint64_t>(record.space));
      Group* group = &groups[key];
      bool again = false;
      while (group->last_lane ==
             i) {  // the same place twice in one round: code that this does not understand
        key = (key ^ 0x5bd1e995u) * 0x9e3779b97f4a7c15ull;
        group = &groups[key];
        again = true;
      }
      const bool piece = at > 1 && record.pc == lanes[i].records[at - 2].pc;  // of one structure's copy
      unpaired += again && !piece;
      group->lanes[group->n++] = &record;
      group->last_lane = i;
    }
  }
  for (auto& [key, group] : groups) count({group.lanes.data(), group.n}, lanes.size());
}

}  // namespace hostcuda::trace
