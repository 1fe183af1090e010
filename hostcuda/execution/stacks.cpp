// See stacks.h.
#include "hostcuda/execution/stacks.h"

#include <sys/mman.h>

#include <new>

namespace hostcuda {
namespace {
constexpr size_t kPage = 4096;
constexpr size_t kPitch = kPage + kPage + kStackBytes;  // guard page, room for the stagger, stack
}  // namespace

Stacks::~Stacks() { release(); }

void Stacks::release() {
  if (memory_ == nullptr) return;
#ifdef __SANITIZE_ADDRESS__
  // A fiber's last frames never return; their poison would outlive them for whatever is mapped here next.
  ASAN_UNPOISON_MEMORY_REGION(memory_, bytes_);
#endif
  munmap(memory_, bytes_);
  memory_ = nullptr;
}

void Stacks::reserve(size_t count) {
  if (count <= fibers_.size()) return;
  release();
  fibers_.clear();
  bytes_ = count * kPitch;
  void* memory =
      mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  memory_ = static_cast<char*>(memory);
  fibers_.resize(count);
  for (size_t i = 0; i < count; ++i) {
    char* begin = memory_ + i * kPitch;
    mprotect(begin, kPage, PROT_NONE);  // may fail with very many mappings: then there is no guard
    fibers_[i].stack_top = begin + 2 * kPage + kStackBytes - (kPage - i * 320 % kPage) / 64 * 64;
  }
}

StackPosition Stacks::prepare(size_t i, void (*entry)()) {
  Fiber& fiber = fibers_[i];
#ifdef __SANITIZE_ADDRESS__
  ASAN_UNPOISON_MEMORY_REGION(fiber.stack_top - kStackBytes, kStackBytes);  // left by an earlier use
#endif
  fiber.fake_stack = nullptr;
  return prepare_stack(fiber.stack_top, kStackBytes, entry);
}

}  // namespace hostcuda
