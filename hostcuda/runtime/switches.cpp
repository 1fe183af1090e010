// See hostcuda/hostcuda.h.
#include "hostcuda/runtime/switches.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "hostcuda/hostcuda.h"

namespace hostcuda {
namespace {

template <typename Integer>
bool parse_number(std::string_view text, Integer* number) {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), *number);
  return error == std::errc() && end == text.data() + text.size();
}

// A number from the environment; what is not a number stops the program, since a test would silently not
// test.
int64_t environment_number(const char* name, int64_t most = std::numeric_limits<int64_t>::max()) {
  const char* text = std::getenv(name);
  if (text == nullptr || *text == '\0') return 0;
  int64_t value = 0;
  if (parse_number(text, &value) && value >= 0 && value <= most) return value;
  std::fprintf(stderr, "hostcuda: %s=%s: give a whole number from 0 to %lld.\n", name, text,
               static_cast<long long>(most));
  std::exit(2);
}

constexpr int64_t kMostThreads = 4096;

int cores() { return static_cast<int>(std::max(1u, std::thread::hardware_concurrency())); }

bool parse_order(const std::string& text, ThreadOrder* order) {
  if (text == "forward") return *order = {ThreadOrder::forward, 0}, true;
  if (text == "reverse") return *order = {ThreadOrder::reverse, 0}, true;
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon == std::string::npos || (kind != "random" && kind != "preempt")) return false;
  uint64_t seed = 0;
  if (!parse_number(std::string_view(text).substr(colon + 1), &seed)) return false;
  return *order = {kind == "random" ? ThreadOrder::random : ThreadOrder::preempt, seed}, true;
}

bool parse_copies(const std::string& text, bool* late) {
  *late = text == "wait";
  return *late || text == "issue";
}

}  // namespace

Switches::Switches()
    : threads(static_cast<int>(environment_number("HOSTCUDA_THREADS", kMostThreads))),
      order(ThreadOrder::forward),
      order_seed(0),
      poison_shared(environment_number("HOSTCUDA_POISON_SHARED") != 0),
      poison_memory(environment_number("HOSTCUDA_POISON_MEMORY") != 0),
      late_async_copies(false),
      memory_limit(static_cast<size_t>(environment_number("HOSTCUDA_MEMORY_LIMIT"))),
      fail_allocation(environment_number("HOSTCUDA_FAIL_ALLOC")),
      fail_launch(environment_number("HOSTCUDA_FAIL_LAUNCH")) {
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

void set_threads(int count) { switches().threads = std::clamp(count, 0, static_cast<int>(kMostThreads)); }
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
