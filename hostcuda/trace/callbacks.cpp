// What g++ calls from code compiled with -fsanitize=thread and -fsanitize-coverage=trace-pc.
// ThreadSanitizer's own run-time library is not linked; these take its place.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "hostcuda/trace/recorder.h"

namespace {

bool traced_code = false;

inline void note(const void* pc, const void* address, size_t bytes, hostcuda::Access kind) {
  if (hostcuda::trace::recorder != nullptr)
    hostcuda::trace::recorder->traced_access(pc, address, bytes, kind);
}

}  // namespace

namespace hostcuda::trace {
bool available() { return traced_code; }
}  // namespace hostcuda::trace

#define PC __builtin_return_address(0)

extern "C" {

void __tsan_init() { traced_code = true; }
void __sanitizer_cov_trace_pc() {
  if (hostcuda::trace::recorder != nullptr) hostcuda::trace::recorder->basic_block(PC);
}
void __tsan_vptr_update(void**, void*) {}
void __tsan_vptr_read(void**) {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define ACCESS(bytes)                                                                                 \
  void __tsan_read##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::read); }                    \
  void __tsan_write##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::write); }                  \
  void __tsan_unaligned_read##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::read); }          \
  void __tsan_unaligned_write##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::write); }        \
  void __tsan_volatile_read##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::read); }           \
  void __tsan_volatile_write##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::write); }         \
  void __tsan_unaligned_volatile_read##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::read); } \
  void __tsan_unaligned_volatile_write##bytes(void* p) { note(PC, p, bytes, hostcuda::Access::write); }
ACCESS(1)
ACCESS(2)
ACCESS(4)
ACCESS(8)
ACCESS(16)

// Copies of structures that are not a power of two long: as the words that a GPU would move.
static void note_range(const void* pc, char* p, size_t bytes, hostcuda::Access kind) {
  const size_t unit = (reinterpret_cast<uintptr_t>(p) | bytes) % 4 == 0 ? 4 : 1;
  for (size_t i = 0; i < bytes; i += unit) note(pc, p + i, unit, kind);
}
void __tsan_read_range(void* p, size_t bytes) {
  note_range(PC, static_cast<char*>(p), bytes, hostcuda::Access::read);
}
void __tsan_write_range(void* p, size_t bytes) {
  note_range(PC, static_cast<char*>(p), bytes, hostcuda::Access::write);
}

void __tsan_atomic_thread_fence(int) { std::atomic_thread_fence(std::memory_order_seq_cst); }
void __tsan_atomic_signal_fence(int) {}

#define UPDATE(T, bits, name, builtin)                                \
  T __tsan_atomic##bits##_##name(volatile T* p, T value, int) {       \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic); \
    return builtin(p, value, __ATOMIC_SEQ_CST);                       \
  }
#define ATOMIC(T, bits)                                                                                \
  T __tsan_atomic##bits##_load(const volatile T* p, int) {                                             \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic);                                  \
    return __atomic_load_n(p, __ATOMIC_SEQ_CST);                                                       \
  }                                                                                                    \
  void __tsan_atomic##bits##_store(volatile T* p, T value, int) {                                      \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic);                                  \
    __atomic_store_n(p, value, __ATOMIC_SEQ_CST);                                                      \
  }                                                                                                    \
  UPDATE(T, bits, exchange, __atomic_exchange_n)                                                       \
  UPDATE(T, bits, fetch_add, __atomic_fetch_add)                                                       \
  UPDATE(T, bits, fetch_sub, __atomic_fetch_sub)                                                       \
  UPDATE(T, bits, fetch_and, __atomic_fetch_and)                                                       \
  UPDATE(T, bits, fetch_or, __atomic_fetch_or)                                                         \
  UPDATE(T, bits, fetch_xor, __atomic_fetch_xor)                                                       \
  int __tsan_atomic##bits##_compare_exchange_strong(volatile T* p, T* expected, T value, int, int) {   \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic);                                  \
    return __atomic_compare_exchange_n(p, expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST); \
  }                                                                                                    \
  int __tsan_atomic##bits##_compare_exchange_weak(volatile T* p, T* expected, T value, int, int) {     \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic);                                  \
    return __atomic_compare_exchange_n(p, expected, value, true, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);  \
  }                                                                                                    \
  T __tsan_atomic##bits##_compare_exchange_val(volatile T* p, T expected, T value, int, int) {         \
    note(PC, const_cast<T*>(p), sizeof(T), hostcuda::Access::atomic);                                  \
    __atomic_compare_exchange_n(p, &expected, value, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);       \
    return expected;                                                                                   \
  }
ATOMIC(uint8_t, 8)
ATOMIC(uint16_t, 16)
ATOMIC(uint32_t, 32)
ATOMIC(uint64_t, 64)

}  // extern "C"
