// See hostcuda/hostcuda.h.
#include "hostcuda/runtime/switches.h"

#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "hostcuda/hostcuda.h"

namespace hostcuda {
namespace {

// A number from the environment; what is not a number stops the program, since a test would silently not
// test.
int64_t environment_number(const char* name, int64_t fallback) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return fallback;
  char* end = nullptr;
  long long value = std::strtoll(text, &end, 10);
  if (*end == '\0' && value >= 0) return value;
  std::fprintf(stderr, "hostcuda: %s=%s is not a number. Give a whole number of 0 or more.\n", name, text);
  std::exit(2);
}

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

bool parse_order(const std::string& text, ThreadOrder* order) {
  if (text == "forward") return *order = {ThreadOrder::forward, 0}, true;
  if (text == "reverse") return *order = {ThreadOrder::reverse, 0}, true;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == std::string::npos || colon + 1 == text.size() || (kind != "random" && kind != "preempt"))
    return false;
  char* end = nullptr;
  uint64_t seed = std::strtoull(text.c_str() + colon + 1, &end, 10);
  if (*end != '\0') return false;
  return *order = {kind == "random" ? ThreadOrder::random : ThreadOrder::preempt, seed}, true;
}

bool parse_copies(const std::string& text, bool* late) {
  *late = text == "wait";
  return *late || text == "issue";
}

}  // namespace

Switches::Switches()
    : threads(static_cast<int>(environment_number("HOSTCUDA_THREADS", 0))),
      order(ThreadOrder::forward),
      order_seed(0),
      poison_shared(environment_number("HOSTCUDA_POISON_SHARED", 0) != 0),
      poison_memory(environment_number("HOSTCUDA_POISON_MEMORY", 0) != 0),
      late_async_copies(false),
      memory_limit(static_cast<size_t>(environment_number("HOSTCUDA_MEMORY_LIMIT", 0))),
      fail_allocation(environment_number("HOSTCUDA_FAIL_ALLOC", 0)),
      fail_launch(environment_number("HOSTCUDA_FAIL_LAUNCH", 0)) {
  if (const char* text = std::getenv("HOSTCUDA_THREAD_ORDER"); text != nullptr && *text != '\0') {
    ThreadOrder parsed;
    if (!parse_order(text, &parsed)) {
      std::fprintf(
          stderr, "hostcuda: HOSTCUDA_THREAD_ORDER=%s: give forward, reverse, random:SEED or preempt:SEED.\n",
          text);
      std::exit(2);
    }
    order = parsed.kind;
    order_seed = parsed.seed;
  }
  if (const char* text = std::getenv("HOSTCUDA_ASYNC_COPIES"); text != nullptr && *text != '\0') {
    bool late = false;
    if (!parse_copies(text, &late)) {
      std::fprintf(stderr, "hostcuda: HOSTCUDA_ASYNC_COPIES=%s: give issue or wait.\n", text);
      std::exit(2);
    }
    late_async_copies = late;
  }
}

bool Switches::due(std::atomic<int64_t>& countdown) {
  int64_t left = countdown.load();
  while (left > 0 && !countdown.compare_exchange_weak(left, left - 1)) {
  }
  return left == 1;
}

Switches& switches() {
  static Switches instance;
  return instance;
}

void set_threads(int count) { switches().threads = count > 0 ? count : 0; }
int threads() {
  int count = switches().threads;
  return count > 0 ? count : cores();
}

void set_thread_order(const char* order) {
  ThreadOrder parsed;
  if (!parse_order(order, &parsed)) {
    throw std::invalid_argument(std::string("hostcuda: thread order '") + order +
                                "': give forward, reverse, random:SEED or preempt:SEED");
  }
  switches().order = parsed.kind;
  switches().order_seed = parsed.seed;
}

void set_async_copies(const char* when) {
  bool late = false;
  if (!parse_copies(when, &late)) {
    throw std::invalid_argument(std::string("hostcuda: async copies '") + when + "': give issue or wait");
  }
  switches().late_async_copies = late;
}

void set_poison_shared(bool on) { switches().poison_shared = on; }
void set_poison_memory(bool on) { switches().poison_memory = on; }
void set_memory_limit(size_t bytes) { switches().memory_limit = bytes; }
void fail_allocation(int64_t n) { switches().fail_allocation = n; }
void fail_launch(int64_t n) { switches().fail_launch = n; }

}  // namespace hostcuda
