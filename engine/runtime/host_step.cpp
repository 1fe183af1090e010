#include "engine/runtime/host_step.h"

#include <exception>
#include <memory>
#include <mutex>

#include "engine/runtime/cuda_check.h"

namespace lathe {
namespace {

std::mutex error_mutex;
std::exception_ptr first_error;

void run_body(void* body) {
  try {
    (*static_cast<std::function<void()>*>(body))();
  } catch (...) {
    std::lock_guard lock(error_mutex);
    if (!first_error) first_error = std::current_exception();
  }
}

}  // namespace

Enqueue host_step(std::function<void()> body) {
  // Shared with the stream: a captured step runs the body many times, so the Enqueue must outlive its graph.
  auto shared = std::make_shared<std::function<void()>>(std::move(body));
  return [shared](cudaStream_t stream) {
    check_cuda(cudaLaunchHostFunc(stream, run_body, shared.get()), "cudaLaunchHostFunc");
  };
}

void throw_host_step_error() {
  std::exception_ptr error;
  {
    std::lock_guard lock(error_mutex);
    std::swap(error, first_error);
  }
  if (error) std::rethrow_exception(error);
}

}  // namespace lathe
