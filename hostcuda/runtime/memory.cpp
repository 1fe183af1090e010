// Device and pinned memory, the stream-ordered pool, copies and fills.
//
// Device memory is host memory with a table of what is allocated. Under AddressSanitizer every allocation is
// its own malloc of the exact size and nothing is pooled, so that an overrun or a use after free is reported.
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "hostcuda/runtime/runtime.h"
#include "hostcuda/runtime/switches.h"

struct CUmemPool_st {};  // the one pool of the one device; its state is in Memory

namespace hostcuda {
namespace {

#ifdef __SANITIZE_ADDRESS__
constexpr bool kPooled = false;
#else
constexpr bool kPooled = true;
#endif

constexpr size_t kAlignment = 256;
constexpr size_t kStagedBytes = 64 * 1024;

struct Allocation {
  size_t bytes;
  bool device;
  bool pooled;
};

// A block in the pool: free for stream `stream` at once, for others when they are ordered after the free.
struct FreeBlock {
  char* pointer;
  uint64_t stream, position;
  MarkerPtr freed;
};

struct Memory {
  std::mutex mutex;                        // taken after the runtime's
  std::map<const char*, Allocation> live;  // by first byte
  std::multimap<size_t, FreeBlock> pool;   // by size
  size_t device_bytes = 0;                 // live and pooled
  size_t pool_live = 0, pool_live_high = 0, pool_reserved = 0, pool_reserved_high = 0;
  CUmemPool_st handle;
  uint64_t release_threshold = 0;
};

Memory& memory() {
  static auto* instance = new Memory;
  return *instance;
}

size_t total_bytes() {
  size_t limit = switches().memory_limit;
  return limit != 0
             ? limit
             : static_cast<size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<size_t>(sysconf(_SC_PAGESIZE));
}

char* host_allocate(size_t bytes) {
  void* pointer = nullptr;
  return posix_memalign(&pointer, kAlignment, bytes) == 0 ? static_cast<char*>(pointer) : nullptr;
}

// Gives pooled blocks that nobody can still be using back to the system.
void trim_pool(Memory& m, size_t keep) {
  for (auto it = m.pool.begin(); it != m.pool.end() && m.pool_reserved > keep;) {
    if (!it->second.freed->done()) {
      ++it;
      continue;
    }
    std::free(it->second.pointer);
    m.device_bytes -= it->first;
    m.pool_reserved -= it->first;
    it = m.pool.erase(it);
  }
}

// Fresh device memory, or null where the limit, the system or an injected failure says so.
char* device_allocate(Memory& m, size_t bytes) {
  if (Switches::due(switches().fail_allocation)) return nullptr;
  if (bytes > total_bytes()) return nullptr;
  if (m.device_bytes > total_bytes() - bytes) trim_pool(m, 0);
  if (m.device_bytes > total_bytes() - bytes) return nullptr;
  char* pointer = host_allocate(bytes);
  if (pointer != nullptr) m.device_bytes += bytes;
  return pointer;
}

// The live allocation that holds this address.
const std::pair<const char* const, Allocation>* find_allocation(Memory& m, const void* pointer) {
  const char* address = static_cast<const char*>(pointer);
  auto it = m.live.upper_bound(address);
  if (it == m.live.begin()) return nullptr;
  --it;
  return address < it->first + it->second.bytes ? &*it : nullptr;
}

// Whether [pointer, pointer + bytes) may be one side of a copy: inside one device allocation if it has to be
// or is device memory.
bool valid_range(const void* pointer, size_t bytes, bool must_be_device) {
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  const auto* found = find_allocation(m, pointer);
  if (found == nullptr) return !must_be_device && pointer != nullptr;
  if (must_be_device && !found->second.device) return false;
  size_t offset = static_cast<size_t>(static_cast<const char*>(pointer) - found->first);
  return bytes <= found->second.bytes - offset;
}

size_t pool_size(size_t bytes) {
  const size_t unit = bytes < (1 << 20) ? 512 : 64 * 1024;
  return (bytes + unit - 1) / unit * unit;
}

char* take_from_pool(Memory& m, CUstream_st& stream, size_t bytes) {
  for (auto it = m.pool.lower_bound(bytes); it != m.pool.end() && it->first <= 2 * bytes; ++it) {
    const FreeBlock& block = it->second;
    auto known = stream.known.find(block.stream);
    bool ordered = block.stream == stream.id ||
                   (known != stream.known.end() && known->second >= block.position) || block.freed->done();
    if (!ordered) continue;
    char* pointer = block.pointer;
    m.live[pointer] = {it->first, true, true};
    m.pool_reserved -= it->first;
    m.pool.erase(it);
    return pointer;
  }
  return nullptr;
}

// A call that waits; it is an error during a capture.
cudaError_t wait_for_stream(cudaStream_t stream, cudaError_t submitted) {
  return submitted != cudaSuccess ? report(submitted) : cudaStreamSynchronize(stream);
}

}  // namespace

bool is_pinned_or_device(const void* pointer) {
  std::lock_guard lock(memory().mutex);
  return find_allocation(memory(), pointer) != nullptr;
}

std::vector<std::pair<const char*, size_t>> device_arrays() {
  std::lock_guard lock(memory().mutex);
  std::vector<std::pair<const char*, size_t>> list;
  for (const auto& [pointer, allocation] : memory().live) list.emplace_back(pointer, allocation.bytes);
  return list;
}

void release_pool() {
  std::lock_guard lock(memory().mutex);
  trim_pool(memory(), 0);
}

cudaError_t allocate_device(void** pointer, size_t bytes) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue);
  if (cudaError_t error = refuse_during_capture(); error != cudaSuccess) return report(error);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  char* fresh = device_allocate(m, bytes);
  if (fresh == nullptr) return report(cudaErrorMemoryAllocation);
  m.live[fresh] = {bytes, true, false};
  if (switches().poison_memory) std::memset(fresh, 0xff, bytes);
  *pointer = fresh;
  return cudaSuccess;
}

cudaError_t allocate_host(void** pointer, size_t bytes) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue);
  if (cudaError_t error = refuse_during_capture(); error != cudaSuccess) return report(error);
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Memory& m = memory();
  std::lock_guard lock(m.mutex);
  char* fresh = Switches::due(switches().fail_allocation) ? nullptr : host_allocate(bytes);
  if (fresh == nullptr) return report(cudaErrorMemoryAllocation);
  m.live[fresh] = {bytes, false, false};
  *pointer = fresh;
  return cudaSuccess;
}

cudaError_t allocate_async(void** pointer, size_t bytes, cudaStream_t handle) {
  if (pointer == nullptr) return report(cudaErrorInvalidValue);
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    invalidate(*stream->capture);
    return report(cudaErrorStreamCaptureUnsupported);
  }
  if (sticky_error() != cudaSuccess) return report(sticky_error());
  *pointer = nullptr;
  if (bytes == 0) return cudaSuccess;
  Memory& m = memory();
  std::lock_guard memory_lock(m.mutex);
  const size_t size = kPooled ? pool_size(bytes) : bytes;
  char* block = take_from_pool(m, *stream, size);
  if (block != nullptr && Switches::due(switches().fail_allocation)) {
    m.pool_reserved += m.live[block].bytes;
    m.pool.emplace(m.live[block].bytes,
                   FreeBlock{block, stream->id, stream->submitted, stream->push_marker()});
    m.live.erase(block);
    return report(cudaErrorMemoryAllocation);
  }
  if (block == nullptr) {
    block = device_allocate(m, size);
    if (block == nullptr) return report(cudaErrorMemoryAllocation);
    m.live[block] = {size, true, true};
  }
  const size_t actual = m.live[block].bytes;
  m.pool_live += actual;
  m.pool_live_high = std::max(m.pool_live_high, m.pool_live);
  m.pool_reserved_high = std::max(m.pool_reserved_high, m.pool_live + m.pool_reserved);
  *pointer = block;
  if (!switches().poison_memory) return cudaSuccess;
  return report(submit_locked(*stream, [block, bytes] { std::memset(block, 0xff, bytes); }));
}

}  // namespace hostcuda

using hostcuda::memory;
using hostcuda::report;
using hostcuda::runtime;
using hostcuda::sticky_error;

// Waits for the whole device, as CUDA's does, so that no work can still use the memory.
static cudaError_t free_now(void* pointer, bool device) {
  if (pointer == nullptr) return report(sticky_error());
  if (cudaError_t error = hostcuda::refuse_during_capture(); error != cudaSuccess) return report(error);
  cudaDeviceSynchronize();
  hostcuda::Memory& m = memory();
  std::lock_guard lock(m.mutex);
  auto it = m.live.find(static_cast<const char*>(pointer));
  if (it == m.live.end() || it->second.device != device) return report(cudaErrorInvalidValue);
  if (it->second.device) m.device_bytes -= it->second.bytes;
  if (it->second.pooled) m.pool_live -= it->second.bytes;
  m.live.erase(it);
  std::free(pointer);
  return report(sticky_error());
}

cudaError_t cudaFree(void* pointer) { return free_now(pointer, true); }
cudaError_t cudaFreeHost(void* pointer) { return free_now(pointer, false); }

cudaError_t cudaFreeAsync(void* pointer, cudaStream_t handle) {
  if (pointer == nullptr) return report(sticky_error());
  std::lock_guard lock(runtime().mutex);
  CUstream_st* stream = hostcuda::find_stream(handle);
  if (stream == nullptr) return report(cudaErrorInvalidResourceHandle);
  if (stream->capture != nullptr) {
    hostcuda::invalidate(*stream->capture);
    return report(cudaErrorStreamCaptureUnsupported);
  }
  hostcuda::Memory& m = memory();
  std::lock_guard memory_lock(m.mutex);
  auto it = m.live.find(static_cast<const char*>(pointer));
  if (it == m.live.end() || !it->second.device) return report(cudaErrorInvalidValue);
  const hostcuda::Allocation allocation = it->second;
  m.live.erase(it);
  if (allocation.pooled) m.pool_live -= allocation.bytes;
  ++stream->submitted;
  if (hostcuda::kPooled) {
    m.pool.emplace(allocation.bytes, hostcuda::FreeBlock{static_cast<char*>(pointer), stream->id,
                                                         stream->submitted, stream->push_marker()});
    m.pool_reserved += allocation.bytes;
  } else {
    m.device_bytes -= allocation.bytes;
    stream->push([pointer] { std::free(pointer); });
  }
  return report(sticky_error());
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  if (kind < cudaMemcpyHostToHost || kind > cudaMemcpyDefault) return report(cudaErrorInvalidMemcpyDirection);
  if (bytes == 0) return report(sticky_error());
  bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice;
  bool from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
  if (!hostcuda::valid_range(to, bytes, to_device) || !hostcuda::valid_range(from, bytes, from_device)) {
    return report(cudaErrorInvalidValue);
  }
  bool capturing = false;
  {
    std::lock_guard lock(runtime().mutex);
    CUstream_st* found = hostcuda::find_stream(stream);
    capturing = found != nullptr && found->capture != nullptr;
  }
  // Pageable memory, as on a GPU: a small source may be changed as soon as this returns, else the copy is
  // complete.
  bool pageable_source = !hostcuda::is_pinned_or_device(from);
  bool pageable = pageable_source || !hostcuda::is_pinned_or_device(to);
  if (pageable && !capturing) {
    if (pageable_source && bytes <= hostcuda::kStagedBytes && hostcuda::is_pinned_or_device(to)) {
      auto staged = std::make_shared<std::vector<char>>(static_cast<const char*>(from),
                                                        static_cast<const char*>(from) + bytes);
      return report(hostcuda::submit(stream, [=] { std::memcpy(to, staged->data(), bytes); }));
    }
    return hostcuda::wait_for_stream(stream, hostcuda::submit(stream, [=] { std::memcpy(to, from, bytes); }));
  }
  return report(hostcuda::submit(stream, [=] { std::memcpy(to, from, bytes); }));
}

cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  if (cudaError_t error = hostcuda::refuse_during_capture(); error != cudaSuccess) return report(error);
  return hostcuda::wait_for_stream(nullptr, cudaMemcpyAsync(to, from, bytes, kind, nullptr));
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return report(sticky_error());
  if (!hostcuda::valid_range(to, bytes, true)) return report(cudaErrorInvalidValue);
  return report(hostcuda::submit(stream, [=] { std::memset(to, value, bytes); }));
}

cudaError_t cudaMemset(void* to, int value, size_t bytes) {
  if (cudaError_t error = hostcuda::refuse_during_capture(); error != cudaSuccess) return report(error);
  return hostcuda::wait_for_stream(nullptr, cudaMemsetAsync(to, value, bytes, nullptr));
}

cudaError_t cudaMemGetInfo(size_t* free_bytes, size_t* total) {
  if (free_bytes == nullptr || total == nullptr) return report(cudaErrorInvalidValue);
  hostcuda::Memory& m = memory();
  std::lock_guard lock(m.mutex);
  *total = hostcuda::total_bytes();
  *free_bytes = *total - std::min(*total, m.device_bytes);
  return report(sticky_error());
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* pointer) {
  if (attributes == nullptr) return report(cudaErrorInvalidValue);
  hostcuda::Memory& m = memory();
  std::lock_guard lock(m.mutex);
  const auto* found = hostcuda::find_allocation(m, pointer);
  void* address = const_cast<void*>(pointer);
  if (found == nullptr) {
    *attributes = {cudaMemoryTypeUnregistered, -1, nullptr, address};
  } else if (found->second.device) {
    *attributes = {cudaMemoryTypeDevice, 0, address, nullptr};
  } else {
    *attributes = {cudaMemoryTypeHost, 0, address, address};
  }
  return cudaSuccess;
}

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* pool, int device) {
  if (pool == nullptr) return report(cudaErrorInvalidValue);
  if (device != 0) return report(cudaErrorInvalidDevice);
  *pool = &memory().handle;
  return cudaSuccess;
}

cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  hostcuda::Memory& m = memory();
  if (pool != &m.handle || value == nullptr) return report(cudaErrorInvalidValue);
  std::lock_guard lock(m.mutex);
  auto* number = static_cast<uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      *number = m.release_threshold;
      break;
    case cudaMemPoolAttrReservedMemCurrent:
      *number = m.pool_live + m.pool_reserved;
      break;
    case cudaMemPoolAttrReservedMemHigh:
      *number = m.pool_reserved_high;
      break;
    case cudaMemPoolAttrUsedMemCurrent:
      *number = m.pool_live;
      break;
    case cudaMemPoolAttrUsedMemHigh:
      *number = m.pool_live_high;
      break;
    default:
      return report(cudaErrorInvalidValue);
  }
  return cudaSuccess;
}

// The threshold is kept but not used: the pool shrinks when memory is short or cudaMemPoolTrimTo asks.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t pool, cudaMemPoolAttr attribute, void* value) {
  hostcuda::Memory& m = memory();
  if (pool != &m.handle || value == nullptr) return report(cudaErrorInvalidValue);
  std::lock_guard lock(m.mutex);
  const uint64_t number = *static_cast<uint64_t*>(value);
  switch (attribute) {
    case cudaMemPoolAttrReleaseThreshold:
      m.release_threshold = number;
      return cudaSuccess;
    case cudaMemPoolAttrReservedMemHigh:
      m.pool_reserved_high = m.pool_live + m.pool_reserved;
      break;
    case cudaMemPoolAttrUsedMemHigh:
      m.pool_live_high = m.pool_live;
      break;
    default:
      return report(cudaErrorInvalidValue);
  }
  return number == 0 ? cudaSuccess : report(cudaErrorInvalidValue);  // a high-water mark can only be reset
}

cudaError_t cudaMemPoolTrimTo(cudaMemPool_t pool, size_t bytes_to_keep) {
  hostcuda::Memory& m = memory();
  if (pool != &m.handle) return report(cudaErrorInvalidValue);
  std::lock_guard lock(m.mutex);
  hostcuda::trim_pool(m, bytes_to_keep > m.pool_live ? bytes_to_keep - m.pool_live : 0);
  return cudaSuccess;
}
