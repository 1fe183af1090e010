// Two accesses are ordered if one thread made both, if a block barrier lies between them, or, in one warp, a
// warp barrier. Threads take turns, so the order in which accesses are seen does not matter: what would race
// on a GPU is found under any order.
#include "hostcuda/trace/shared_shadow.h"

namespace hostcuda::trace {

void SharedShadow::set_ranges(Range dynamic, Range fixed) {
  for (auto [region, range] : {std::pair{&dynamic_, dynamic}, std::pair{&fixed_, fixed}}) {
    if (region->range.begin == range.begin && region->range.bytes == range.bytes) continue;
    region->range = range;
    region->words.assign((range.bytes + 3) / 4, {});
    region->bytes.clear();
  }
}

void SharedShadow::begin_block() {
  ++block_;
  interval_ = 1;
  now_.fill(1);
  fence_.fill(1);
  static_bytes_touched_ = 0;
}

void SharedShadow::barrier() {
  ++interval_;
  for (size_t w = 0; w < now_.size(); ++w) fence_[w] = ++now_[w];
}

// Whether what `before` did at its warp's time `when` is over for `thread`.
bool SharedShadow::ordered(int thread, uint32_t when, int before) const {
  const auto warp = static_cast<size_t>(before / 32);
  return before == thread || when < fence_[warp] || (thread / 32 == before / 32 && when < now_[warp]);
}

bool SharedShadow::reads_ordered(const Cell& cell, int thread) const {
  if (cell.reader == kNobody) return true;
  if (cell.reader == kMany) return cell.read_interval < interval_;
  if (cell.reader >= 0) return ordered(thread, cell.read_at, cell.reader);
  const int warp = kManyOfWarp - cell.reader;
  return cell.read_at < fence_[static_cast<size_t>(warp)] ||
         (thread / 32 == warp && cell.read_at < now_[static_cast<size_t>(warp)]);
}

void SharedShadow::note_read(Cell& cell, int thread) {
  const int warp = thread / 32;
  const int reader = cell.reader;
  if (reader != thread && !reads_ordered(cell, thread)) {
    const int before = reader >= 0 ? reader / 32 : reader == kMany ? -1 : kManyOfWarp - reader;
    cell.reader = static_cast<int16_t>(before == warp ? kManyOfWarp - warp : kMany);
  } else {
    cell.reader = static_cast<int16_t>(thread);
  }
  cell.read_at = now_[static_cast<size_t>(warp)];
  cell.read_interval = interval_;
}

template <typename Visit>
void SharedShadow::for_each_cell(const char* address, size_t bytes, Visit visit) {
  Region& region = dynamic_.range.holds(address) ? dynamic_ : fixed_;
  const auto begin = static_cast<size_t>(address - region.range.begin), end = begin + bytes;
  for (size_t word = begin / 4; word < (end + 3) / 4 && word < region.words.size(); ++word) {
    Cell& cell = region.words[word];
    if (cell.block != block_) {
      cell = {.block = block_};
      if (&region == &fixed_) static_bytes_touched_ += 4;
    }
    const size_t from = std::max(begin, word * 4) - word * 4, to = std::min(end, word * 4 + 4) - word * 4;
    if (!cell.split && to - from == 4) {
      visit(cell);
      continue;
    }
    if (region.bytes.empty()) region.bytes.resize(region.words.size());
    if (!cell.split) {
      region.bytes[word].fill(cell);
      cell.split = true;
    }
    for (size_t i = from; i < to; ++i) visit(region.bytes[word][i]);
  }
}

std::optional<SharedShadow::Conflict> SharedShadow::access(const char* address, size_t bytes, Access kind,
                                                           int thread) {
  std::optional<Conflict> conflict;
  auto complain = [&](Kind what, int other, bool wrote) {
    if (!conflict) conflict = Conflict{what, other, wrote};
  };
  for_each_cell(address, bytes, [&](Cell& cell) {
    const bool both_atomic = kind == Access::atomic && cell.by_atomic;
    if (cell.unfinished) complain(Kind::unfinished_copy, cell.writer, true);
    if (cell.writer != kNobody && !both_atomic && !ordered(thread, cell.written_at, cell.writer)) {
      complain(Kind::race, cell.writer, true);
    }
    if (kind == Access::read) {
      if (cell.writer == kNobody) complain(Kind::uninitialised, kNobody, false);
      note_read(cell, thread);
      return;
    }
    if (kind == Access::atomic && cell.writer == kNobody) complain(Kind::uninitialised, kNobody, false);
    if (!reads_ordered(cell, thread)) complain(Kind::race, cell.reader >= 0 ? cell.reader : kNobody, false);
    cell.writer = static_cast<int16_t>(thread);
    cell.written_at = now_[static_cast<size_t>(thread / 32)];
    cell.by_atomic = kind == Access::atomic;
    cell.reader = kNobody;
    cell.unfinished = false;
  });
  return conflict;
}

// thread −1: the copy begins; otherwise it ends, and is that thread's write as of now.
void SharedShadow::mark(const char* to, size_t bytes, int thread) {
  for_each_cell(to, bytes, [&](Cell& cell) {
    if (thread < 0) {
      cell.unfinished = true;
    } else if (cell.unfinished && cell.writer == thread) {
      cell.unfinished = false;
      cell.written_at = now_[static_cast<size_t>(thread / 32)];
    }
  });
}

}  // namespace hostcuda::trace
