// See async_copy.h. A thread's copies are kept with the number of their group: a wait finishes those below a
// number. What a thread leaves unfinished is dropped.
#include "hostcuda/execution/async_copy.h"

#include <fmt/format.h>

#include <array>
#include <cstring>
#include <vector>

#include "hostcuda/execution/block.h"
#include "hostcuda/runtime/switches.h"

namespace hostcuda {
namespace {

struct Copy {
  void* to;
  const void* from;
  size_t bytes, valid;
  void finish() const {
    std::memcpy(to, from, valid);
    std::memset(static_cast<char*>(to) + valid, 0, bytes - valid);
  }
};

struct InGroup : Copy {
  uint64_t group;
  bool done;
};

struct Unfinished {
  uint64_t block = 0;  // whose thread left them
  uint64_t group = 0;  // the open one
  std::vector<InGroup> copies;
};

Block& block_at(Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  return *running_block;
}

// Those of the current thread. Their storage is used again by the threads of later blocks.
Unfinished& unfinished(const Block& block) {
  static thread_local std::array<Unfinished, kMaxThreads> all;
  Unfinished& mine = all[static_cast<size_t>(block.current())];
  if (mine.block != block.serial()) {
    mine.block = block.serial();
    mine.copies.clear();
  }
  return mine;
}

[[noreturn, gnu::cold, gnu::noinline]] void fail(Block& block, Site site, const std::string& message) {
  block.fail_here(Failure::wrong_access, site,
                  fmt::format("cp.async at {}:{}: {}", site.file, site.line, message));
}

}  // namespace

void async_copy(void* shared, const void* global, int bytes, int valid, Site site) {
  Block& block = block_at(site);
  const auto to = reinterpret_cast<uintptr_t>(shared), from = reinterpret_cast<uintptr_t>(global);
  const auto misaligned = static_cast<uintptr_t>(bytes - 1);
  if (((to | from) & misaligned) != 0) {
    fail(
        block, site,
        fmt::format("the {} address {:#x} is not a multiple of the copy's {} bytes",
                    (to & misaligned) != 0 ? "shared" : "global", (to & misaligned) != 0 ? to : from, bytes));
  }
  if (valid < 0 || valid > bytes) fail(block, site, fmt::format("{} valid bytes of {}", valid, bytes));
  const Copy copy{shared, global, static_cast<size_t>(bytes), static_cast<size_t>(valid)};
  const bool late = switches().late_async_copies;
  if (late) {
    std::memset(shared, 0xff, copy.bytes);
  } else if (valid == 16) {
    std::memcpy(shared, global, 16);
  } else {
    copy.finish();
  }
  if (observer != nullptr) {
    const void* pc = __builtin_return_address(0);
    if (valid > 0) observer->access(pc, global, copy.valid, Access::read);
    observer->access(pc, shared, copy.bytes, Access::write);
    observer->copy_begins(pc, shared, copy.bytes);
  }
  if (late || observer != nullptr) {
    Unfinished& mine = unfinished(block);
    mine.copies.push_back({copy, mine.group, !late});
  }
}

void async_copy_commit(Site site) { ++unfinished(block_at(site)).group; }

void async_copy_wait(int groups, Site site) {
  Unfinished& mine = unfinished(block_at(site));
  auto copy = mine.copies.begin();
  for (; copy != mine.copies.end() && copy->group + static_cast<uint64_t>(groups) < mine.group; ++copy) {
    if (!copy->done) copy->finish();
    if (observer != nullptr) observer->copy_ends(copy->to, copy->bytes);
  }
  mine.copies.erase(mine.copies.begin(), copy);
}

}  // namespace hostcuda
