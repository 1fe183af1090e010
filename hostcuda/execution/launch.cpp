// Kernels as work on streams: checks of a launch, blocks over CPU threads, errors of a kernel.
#include "hostcuda/execution/launch.h"

#include <cxxabi.h>
#include <dlfcn.h>

#include <atomic>
#include <cstdlib>
#include <map>
#include <mutex>
#include <string>

#include "hostcuda/execution/fibers.h"
#include "hostcuda/execution/observer.h"
#include "hostcuda/execution/parallel_for.h"
#include "hostcuda/hostcuda.h"
#include "hostcuda/runtime/runtime.h"
#include "hostcuda/runtime/switches.h"

namespace hostcuda {
namespace {

int64_t block_count(const KernelInfo& kernel) {
  return static_cast<int64_t>(kernel.grid.x) * kernel.grid.y * kernel.grid.z;
}
int64_t thread_count(const KernelInfo& kernel) {
  return static_cast<int64_t>(kernel.block.x) * kernel.block.y * kernel.block.z;
}

cudaError_t check(const KernelInfo& kernel) {
  const dim3 g = kernel.grid, b = kernel.block;
  bool empty = block_count(kernel) == 0 || thread_count(kernel) == 0;
  bool large = b.x > 1024 || b.y > 1024 || b.z > 64 || thread_count(kernel) > 1024 || g.x > 2147483647u ||
               g.y > 65535 || g.z > 65535;
  if (empty || large) return cudaErrorInvalidConfiguration;
  if (kernel.shared_bytes > kMaxDynamicShared) return cudaErrorInvalidValue;
  if (Switches::due(switches().fail_launch)) return cudaErrorLaunchOutOfResources;
  return cudaSuccess;
}

// Blocks in a part of a launch: enough threads to be worth handing over, yet a few parts for each CPU thread.
// Less than two parts run on the stream's own thread.
int64_t chunk_of(const KernelInfo& kernel, int64_t worthwhile_threads) {
  int64_t least = (worthwhile_threads + thread_count(kernel) - 1) / thread_count(kernel);
  return std::max(least, block_count(kernel) / (8 * static_cast<int64_t>(threads())));
}

}  // namespace

std::string_view function_name(void* function) {
  static std::mutex mutex;
  static std::map<void*, std::string> names;
  std::lock_guard lock(mutex);
  std::string& name = names[function];
  if (name.empty()) {
    Dl_info info;
    bool found = dladdr(function, &info) != 0 && info.dli_sname != nullptr && info.dli_saddr == function;
    char* plain = found ? abi::__cxa_demangle(info.dli_sname, nullptr, nullptr, nullptr) : nullptr;
    name = plain != nullptr ? plain : "(launched by pointer)";
    name = name.substr(0, name.find('('));
    if (name.rfind("void ", 0) == 0) name = name.substr(5);
    if (name.empty()) name = "(launched by pointer)";
    std::free(plain);
  }
  return name;
}

cudaError_t launch_threads(const KernelInfo& kernel, std::function<void()> thread_body, cudaStream_t stream) {
  if (cudaError_t error = check(kernel); error != cudaSuccess) return report(error);
  return report(submit(stream, [kernel, thread_body = std::move(thread_body)] {
    const int64_t blocks = block_count(kernel);
    const ThreadOrder order = switches().thread_order();
    const bool poison = switches().poison_shared;
    std::atomic<bool> failed{false};
    if (observer != nullptr) observer->launch_begins(kernel);
    const int workers = observer != nullptr ? 1 : threads();
    parallel_for(blocks, chunk_of(kernel, 512), workers, [&](int64_t first, int64_t last) {
      for (int64_t i = first; i < last && !failed.load(std::memory_order_relaxed); ++i) {
        int64_t block = order.kind == ThreadOrder::forward ? i : blocks - 1 - i;
        std::string error = run_block(kernel, thread_body, block, order, poison);
        if (error.empty()) continue;
        failed = true;
        set_sticky_error(cudaErrorLaunchFailure, error);
      }
    });
    if (observer != nullptr) observer->launch_ends();
  }));
}

cudaError_t launch_blocks(const KernelInfo& kernel, std::function<void(int64_t, int64_t)> blocks_body,
                          cudaStream_t stream) {
  if (cudaError_t error = check(kernel); error != cudaSuccess) return report(error);
  return report(submit(stream, [kernel, blocks_body = std::move(blocks_body)] {
    parallel_for(block_count(kernel), chunk_of(kernel, 16384), threads(), [&](int64_t first, int64_t last) {
      std::string error;
      try {
        blocks_body(first, last);
        return;
      } catch (const NotInBlock& wait) {
        error = std::string("launched with launch_flat, but waits at ") + wait.site.file + ":" +
                std::to_string(wait.site.line) + "; use launch";
      } catch (const std::exception& exception) {
        error = std::string("uncaught exception: ") + exception.what();
      } catch (...) {
        error = "uncaught exception";
      }
      set_sticky_error(cudaErrorLaunchFailure, "kernel " + std::string(kernel.name) + ": " + error);
    });
  }));
}

}  // namespace hostcuda
