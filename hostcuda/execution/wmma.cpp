// See wmma.h. CUDA says of a fragment only that it is spread over the warp. Here element i of a lane is
// wherever a shuffled table says, a table of its own for each use, so that code which relies on some GPU's
// mapping, or on two uses having the same, gives wrong results.
#include "hostcuda/execution/wmma.h"

#include <fmt/format.h>

#include <array>

#include "hostcuda/execution/block.h"
#include "hostcuda/execution/float16_tiles.h"

namespace hostcuda {
namespace {

constexpr int kSide = 16, kElements = kSide * kSide, kPerLane = kElements / 32;
using Places = std::array<uint8_t, kElements>;  // [lane][element] → 16·row + column

constexpr Places shuffled(uint32_t seed) {
  Places places{};
  for (int i = 0; i < kElements; ++i) places[i] = static_cast<uint8_t>(i);
  for (int i = kElements - 1; i > 0; --i) {
    seed = seed * 1664525u + 1013904223u;
    std::swap(places[i], places[(seed >> 16) % static_cast<uint32_t>(i + 1)]);
  }
  return places;
}
constexpr Places kPlaces[] = {shuffled(1), shuffled(2), shuffled(3)};  // by FragmentUse
const Places& places_of(FragmentUse use) { return kPlaces[static_cast<int>(use)]; }

// From the lanes' elements to a row-major tile, and back.
template <typename T, typename ElementsOf>
void gather(FragmentUse use, T (&tile)[kElements], ElementsOf elements_of) {
  const Places& places = places_of(use);
  for (int lane = 0; lane < 32; ++lane) {
    const T* elements = elements_of(lane);
    for (int i = 0; i < kPerLane; ++i) tile[places[lane * kPerLane + i]] = elements[i];
  }
}
template <typename T, typename ElementsOf>
void spread(FragmentUse use, const T (&tile)[kElements], int count, ElementsOf elements_of) {
  const Places& places = places_of(use);
  for (int lane = 0; lane < 32; ++lane) {
    T* elements = elements_of(lane);
    for (int i = 0; i < count; ++i) elements[i] = tile[places[lane * kPerLane + i % kPerLane]];
  }
}

template <typename T, bool store>
const char* transfer(void* const (&lanes)[32]) {
  const auto of = [&](int lane) -> const FragmentTransfer& {
    return *static_cast<const FragmentTransfer*>(lanes[lane]);
  };
  const FragmentTransfer& first = of(0);
  for (int lane = 1; lane < 32; ++lane) {
    if (of(lane).matrix != first.matrix || of(lane).leading != first.leading ||
        of(lane).column_major != first.column_major) {
      return "the lanes came with different pointers, leading dimensions or layouts";
    }
  }
  const auto elements_of = [&](int lane) { return static_cast<T*>(of(lane).elements); };
  T tile[kElements];
  if (store) gather(first.use, tile, elements_of);
  for (int line = 0; line < kSide; ++line) {
    T* memory = static_cast<T*>(first.matrix) + static_cast<int64_t>(line) * first.leading;
    for (int i = 0; i < kSide; ++i) {
      T& element = tile[first.column_major ? i * kSide + line : line * kSide + i];
      if (store) {
        memory[i] = element;
      } else {
        element = memory[i];
      }
    }
  }
  if (!store) spread(first.use, tile, first.count, elements_of);
  return nullptr;
}

// Checks, and tells an observer of the accesses: each lane makes one of 16 bytes (16-bit numbers) or two
// (fp32), neighbouring lanes next to each other.
void transfer_here(const char* name, FragmentTransfer& t, Access kind, const void* pc, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  const auto address = reinterpret_cast<uintptr_t>(t.matrix);
  const unsigned int multiple = 16 / static_cast<unsigned int>(t.element_bytes);
  std::string wrong;
  if (address % 32 != 0) wrong = fmt::format("the address {:#x} is not a multiple of 32", address);
  if (t.leading % multiple != 0)
    wrong = fmt::format("the leading dimension {} is not a multiple of {}", t.leading, multiple);
  if (!wrong.empty()) {
    running_block->fail_here(Failure::wrong_access, site,
                             fmt::format("{} at {}:{}: {}", name, site.file, site.line, wrong));
  }
  if (observer == nullptr) return;
  for (int piece = running_block->current() % 32; piece < kSide * t.element_bytes; piece += 32) {
    const int64_t line = piece / t.element_bytes, byte = piece % t.element_bytes * 16;
    observer->access(pc, static_cast<char*>(t.matrix) + line * t.leading * t.element_bytes + byte, 16, kind);
  }
}

struct Operands {
  float* d;
  const uint16_t* a;
  const uint16_t* b;
  const float* c;
};

template <bool bfloat16>
const char* multiply_add(void* const (&lanes)[32]) {
  const auto of = [&](int lane) -> const Operands& { return *static_cast<const Operands*>(lanes[lane]); };
  uint16_t codes[kElements];
  alignas(32) float a[kSide][kSide], b[kSide][kSide], sum[kElements];
  gather(FragmentUse::a, codes, [&](int lane) { return of(lane).a; });
  decode<bfloat16>(codes, a[0], kElements);
  gather(FragmentUse::b, codes, [&](int lane) { return of(lane).b; });
  decode<bfloat16>(codes, b[0], kElements);
  gather(FragmentUse::accumulator, sum, [&](int lane) { return of(lane).c; });
  add_product(a, b, reinterpret_cast<float(&)[kSide][kSide]>(sum));
  spread(FragmentUse::accumulator, sum, kPerLane, [&](int lane) { return of(lane).d; });
  return nullptr;
}

constexpr const char* kLoad = "wmma::load_matrix_sync";
constexpr const char* kStore = "wmma::store_matrix_sync";

}  // namespace

void load_fragment(FragmentTransfer t, Site site) {
  static constexpr WarpCollective kHalves{kLoad, transfer<uint16_t, false>},
      kFloats{kLoad, transfer<float, false>};
  transfer_here(kLoad, t, Access::read, __builtin_return_address(0), site);
  warp_collective(t.element_bytes == 2 ? kHalves : kFloats, &t, site);
}

void store_fragment(FragmentTransfer t, Site site) {
  static constexpr WarpCollective kFloats{kStore, transfer<float, true>};
  transfer_here(kStore, t, Access::write, __builtin_return_address(0), site);
  warp_collective(kFloats, &t, site);
}

void multiply_add_fragments(bool bfloat16, float* d, const void* a, const void* b, const float* c,
                            Site site) {
  static constexpr WarpCollective kHalf{"wmma::mma_sync", multiply_add<false>},
      kBfloat16{"wmma::mma_sync", multiply_add<true>};
  Operands operands{d, static_cast<const uint16_t*>(a), static_cast<const uint16_t*>(b), c};
  warp_collective(bfloat16 ? kBfloat16 : kHalf, &operands, site);
}

}  // namespace hostcuda
