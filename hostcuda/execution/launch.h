// How a kernel and its arguments become work on a stream (host build). Used through
// hostcuda/portable/launch.h.
#pragma once

#include <functional>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "cuda_runtime.h"

namespace hostcuda {

struct KernelInfo {
  std::string_view name;
  dim3 grid, block;
  size_t shared_bytes = 0;
};

// Runs `thread_body` once for each thread of the grid, with barriers and warp operations between them.
cudaError_t launch_threads(const KernelInfo& kernel, std::function<void()> thread_body, cudaStream_t stream);

// Runs `blocks_body(first, last)` over parts of [0, number of blocks).
cudaError_t launch_blocks(const KernelInfo& kernel, std::function<void(int64_t, int64_t)> blocks_body,
                          cudaStream_t stream);

void traced_thread_begins();
void traced_thread_ends();

std::string_view function_name(void* function);  // from the symbol table; what a launch by pointer can know

// "relu<float>", cut from the compiler's description of this function.
template <auto Kernel>
constexpr std::string_view kernel_name() {
  std::string_view text = __PRETTY_FUNCTION__;
  text.remove_prefix(text.find("Kernel = ") + 9);
  size_t end = text.find("; std::string_view");
  return text.substr(0, end == std::string_view::npos ? text.size() - 1 : end);
}

template <typename Function>
struct Signature;
template <typename... P>
struct Signature<void (*)(P...)> {
  using Params = std::tuple<P...>;
  static constexpr size_t count = sizeof...(P);
};

// Calls the kernel with a thread's own copy of the arguments. A tracer is told when they are copied: what is
// read before is the host's.
template <typename Kernel, typename... Values>
void call_kernel(Kernel kernel, const std::tuple<Values...>& values) {
#ifdef LATHE_TRACED
  std::tuple<Values...> copy = values;
  traced_thread_begins();
  std::apply(kernel, std::move(copy));
  traced_thread_ends();
#else
  std::apply(kernel, values);
#endif
}

// Blocks [first, last) of a LATHE_FLAT kernel. The loop runs over the global x index, because g++ splits a
// loop at `i < n` only if i is its counter; the threads of a race-free kernel are independent, which ivdep
// says.
template <auto Kernel, typename... Params>
[[gnu::flatten]] void run_flat(dim3 grid, dim3 block, int64_t first, int64_t last, Params... params) {
  const FlatIndex3 block_dim{{block.x}, {block.y}, {block.z}}, grid_dim{{grid.x}, {grid.y}, {grid.z}};
  for (int64_t b = first; b < last; ++b) {
    const FlatIndex3 index{{b % grid.x}, {b / grid.x % grid.y}, {b / grid.x / grid.y}};
    const int64_t base = index.x.value * block_dim.x.value;
    for (int64_t z = 0; z < block_dim.z.value; ++z) {
      for (int64_t y = 0; y < block_dim.y.value; ++y) {
#pragma GCC ivdep
        for (int64_t i = base; i < base + block_dim.x.value; ++i) {
          Kernel(params..., FlatThread{{{i - base}, {y}, {z}}, index, block_dim, grid_dim});
        }
      }
    }
  }
}

// The same for a kernel without the mark: its built-in variables are in this CPU thread's context.
template <auto Kernel, typename... Params>
void run_unmarked(dim3 grid, dim3 block, int64_t first, int64_t last, Params... params) {
  for (int64_t b = first; b < last; ++b) {
    const int64_t x = b % grid.x, y = b / grid.x % grid.y, z = b / grid.x / grid.y;
    hostcuda_thread = {{}, {unsigned(x), unsigned(y), unsigned(z)}, block, grid};
    uint3& thread = hostcuda_thread.thread;
    for (thread.z = 0; thread.z < block.z; ++thread.z) {
      for (thread.y = 0; thread.y < block.y; ++thread.y) {
        for (thread.x = 0; thread.x < block.x; ++thread.x) Kernel(params...);
      }
    }
  }
}

template <auto Kernel, size_t... I, typename... Args>
cudaError_t launch_flat(std::index_sequence<I...>, dim3 grid, dim3 block, cudaStream_t stream,
                        Args&&... args) {
  using Kernel_ = Signature<decltype(Kernel)>;
  using Values = std::tuple<std::tuple_element_t<I, typename Kernel_::Params>...>;
  auto run = [grid, block, values = Values(std::forward<Args>(args)...)](int64_t first, int64_t last) {
    if constexpr (Kernel_::count == sizeof...(I) + 1) {
      run_flat<Kernel>(grid, block, first, last, std::get<I>(values)...);
    } else {
      run_unmarked<Kernel>(grid, block, first, last, std::get<I>(values)...);
    }
  };
  return launch_blocks({kernel_name<Kernel>(), grid, block, 0}, run, stream);
}

}  // namespace hostcuda
