// What is known of each word of a block's shared memory: who wrote and read it last, and when.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "hostcuda/execution/observer.h"
#include "hostcuda/trace/trace.h"

namespace hostcuda::trace {

class SharedShadow {
 public:
  // Shared memory is up to two ranges: the dynamic arena and the static arrays.
  struct Range {
    const char* begin = nullptr;
    size_t bytes = 0;
    bool holds(const void* p) const {
      return static_cast<size_t>(static_cast<const char*>(p) - begin) < bytes;
    }
  };
  void set_ranges(Range dynamic, Range fixed);  // forgets everything
  bool holds(const void* p) const { return dynamic_.range.holds(p) || fixed_.range.holds(p); }

  void begin_block();
  void barrier();
  void warp_barrier(int warp) { ++now_[static_cast<size_t>(warp)]; }

  struct Conflict {
    Kind kind;
    int other;         // the other thread of a race; −1: several, or none
    bool other_wrote;  // else it read
  };
  // What is wrong with an access by `thread`, if anything.
  std::optional<Conflict> access(const char* address, size_t bytes, Access kind, int thread);
  void copy_begins(const char* to, size_t bytes) { mark(to, bytes, -1); }
  void copy_ends(const char* to, size_t bytes, int thread) { mark(to, bytes, thread); }

  int64_t static_bytes_touched() const { return static_bytes_touched_; }  // in this block

 private:
  static constexpr int kNobody = -1, kMany = -2,
                       kManyOfWarp = -3;  // kManyOfWarp − w: several lanes of warp w
  struct Cell {
    uint32_t block = 0;  // whose values these are; another block's are void
    uint32_t written_at = 0, read_at = 0, read_interval = 0;  // in the warp's, the warp's, the block's count
    int16_t writer = kNobody, reader = kNobody;
    bool unfinished = false, by_atomic = false, split = false;
  };
  // A word is one cell until a narrower access splits it into its bytes.
  struct Region {
    Range range;
    std::vector<Cell> words;
    std::vector<std::array<Cell, 4>> bytes;
  };

  template <typename Visit>
  void for_each_cell(const char* address, size_t bytes, Visit visit);
  void mark(const char* to, size_t bytes, int thread);
  bool ordered(int thread, uint32_t when, int before) const;
  bool reads_ordered(const Cell& cell, int thread) const;
  void note_read(Cell& cell, int thread);

  Region dynamic_, fixed_;
  uint32_t block_ = 0, interval_ = 0;
  std::array<uint32_t, 32> now_{}, fence_{};  // by warp: its time, and that of the last block barrier
  int64_t static_bytes_touched_ = 0;
};

}  // namespace hostcuda::trace
