// Ctrl-C and SIGTERM: the run finishes its step, saves, and says how to go on. A second signal ends it at
// once.
#pragma once

#include <csignal>

namespace lathe {

// While it lives, SIGINT and SIGTERM set a flag instead of killing the process.
class StopSignal {
 public:
  StopSignal();
  ~StopSignal();
  StopSignal(const StopSignal&) = delete;
  StopSignal& operator=(const StopSignal&) = delete;

  static bool requested() { return signal_ != 0; }
  static int exit_code() { return 128 + signal_; }  // 130 or 143

 private:
  static void handle(int signal);
  static volatile std::sig_atomic_t signal_;
  struct sigaction old_interrupt_ {
  }, old_terminate_{};
};

}  // namespace lathe
