// See wmma.h. CUDA says of a fragment only that it is spread over the warp. Here element i of a lane is
// wherever shuffled tables say, which are others for each use, so that code which relies on some GPU's
// mapping, or on two uses having the same, gives wrong results.
#include "hostcuda/execution/wmma.h"

#include <fmt/format.h>

#include <array>

#include "hostcuda/execution/block.h"
#include "hostcuda/execution/float16_tiles.h"

namespace hostcuda {
namespace {

constexpr int kSide = 16, kElements = kSide * kSide, kPerLane = 8;

// Eight elements at a time, with g++'s vectors: element by element this would take four times as long.
template <typename T>
struct Eight;
template <>
struct Eight<uint16_t> {
  typedef uint16_t Vector __attribute__((vector_size(16), aligned(2)));
  typedef uint16_t Order __attribute__((vector_size(16)));
};
template <>
struct Eight<float> {
  typedef float Vector __attribute__((vector_size(32), aligned(4)));
  typedef int32_t Order __attribute__((vector_size(32)));
};

// A lane holds half a row of the tile, in an order that turned again is the first one. By FragmentUse.
template <typename T>
constexpr typename Eight<T>::Order kOrders[] = {
    {5, 3, 6, 1, 7, 0, 2, 4}, {7, 2, 1, 5, 6, 3, 4, 0}, {2, 4, 0, 6, 1, 7, 3, 5}};

constexpr std::array<uint8_t, 32> shuffled(uint32_t seed) {
  std::array<uint8_t, 32> numbers{};
  for (uint32_t i = 0; i < 32; ++i) numbers[i] = static_cast<uint8_t>(i);
  for (uint32_t i = 31; i > 0; --i) {
    seed = seed * 1664525u + 1013904223u;
    std::swap(numbers[i], numbers[(seed >> 16) % (i + 1)]);
  }
  return numbers;
}
constexpr std::array<uint8_t, 32> kHalfRows[] = {shuffled(1), shuffled(2), shuffled(3)};  // of a lane

// From the lanes' elements to a row-major tile, and back.
template <typename T, typename ElementsOf>
void gather(FragmentUse use, T* tile, ElementsOf elements_of) {
  using Vector = typename Eight<T>::Vector;
  const auto order = kOrders<T>[static_cast<int>(use)];
  for (int lane = 0; lane < 32; ++lane) {
    const auto elements = *reinterpret_cast<const Vector*>(elements_of(lane));
    *reinterpret_cast<Vector*>(tile + kHalfRows[static_cast<int>(use)][lane] * kPerLane) =
        __builtin_shuffle(elements, order);
  }
}
template <typename T, typename ElementsOf>
void spread(FragmentUse use, const T* tile, int count, ElementsOf elements_of) {
  using Vector = typename Eight<T>::Vector;
  const auto order = kOrders<T>[static_cast<int>(use)];
  for (int lane = 0; lane < 32; ++lane) {
    const auto half_row =
        *reinterpret_cast<const Vector*>(tile + kHalfRows[static_cast<int>(use)][lane] * kPerLane);
    for (int i = 0; i < count; i += kPerLane)
      *reinterpret_cast<Vector*>(elements_of(lane) + i) = __builtin_shuffle(half_row, order);
  }
}

}  // namespace

template <typename T, bool store>
const char* transfer_fragment(void* const (&lanes)[32]) {
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

template const char* transfer_fragment<uint16_t, false>(void* const (&lanes)[32]);
template const char* transfer_fragment<float, false>(void* const (&lanes)[32]);
template const char* transfer_fragment<float, true>(void* const (&lanes)[32]);

// A lane's share is one access of 16 bytes (16-bit numbers) or two (fp32), neighbouring lanes on neighbouring
// lines, as a GPU does it with ldmatrix. As in check_rows(), a few addresses stand for the call.
void check_transfer(const FragmentTransfer& t, bool store, Site site) {
  if (running_block == nullptr) throw NotInBlock{site};
  const auto address = reinterpret_cast<uintptr_t>(t.matrix);
  const unsigned int multiple = 16 / static_cast<unsigned int>(t.element_bytes);
  if (address % 32 != 0 || t.leading % multiple != 0) {
    const std::string wrong =
        address % 32 != 0
            ? fmt::format("the address {:#x} is not a multiple of 32", address)
            : fmt::format("the leading dimension {} is not a multiple of {}", t.leading, multiple);
    running_block->fail_here(
        Failure::wrong_access, site,
        fmt::format("{} at {}:{}: {}", (store ? kStoreFragment<float> : kLoadFragment<float>).name, site.file,
                    site.line, wrong));
  }
  if (observer == nullptr) return;
  for (int piece = running_block->current() % 32; piece < kSide * t.element_bytes; piece += 32) {
    const int64_t line = piece % kSide, byte = piece / kSide * 16;
    observer->access(static_cast<const char*>(__builtin_return_address(0)) + piece / 32,
                     static_cast<char*>(t.matrix) + line * t.leading * t.element_bytes + byte, 16,
                     store ? Access::write : Access::read);
  }
}

template <bool bfloat16>
const char* multiply_add_fragments(void* const (&lanes)[32]) {
  const auto of = [&](int lane) -> const FragmentOperands& {
    return *static_cast<const FragmentOperands*>(lanes[lane]);
  };
  uint16_t codes[kElements];
  float a[kSide][kSide], b[kSide][kSide], sum[kSide][kSide];
  gather(FragmentUse::a, codes, [&](int lane) { return static_cast<const uint16_t*>(of(lane).a); });
  decode<bfloat16>(codes, a[0], kElements);
  gather(FragmentUse::b, codes, [&](int lane) { return static_cast<const uint16_t*>(of(lane).b); });
  decode<bfloat16>(codes, b[0], kElements);
  gather(FragmentUse::accumulator, sum[0], [&](int lane) { return of(lane).c; });
  add_product(a, b, sum);
  spread(FragmentUse::accumulator, sum[0], kPerLane, [&](int lane) { return of(lane).d; });
  return nullptr;
}
template const char* multiply_add_fragments<false>(void* const (&lanes)[32]);
template const char* multiply_add_fragments<true>(void* const (&lanes)[32]);

}  // namespace hostcuda
