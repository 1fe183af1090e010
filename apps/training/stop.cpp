#include "apps/training/stop.h"

namespace lathe {

volatile std::sig_atomic_t StopSignal::signal_ = 0;

void StopSignal::handle(int signal) {
  signal_ = signal;
  std::signal(signal, SIG_DFL);
}

StopSignal::StopSignal() {
  signal_ = 0;
  struct sigaction action {};
  action.sa_handler = handle;
  action.sa_flags = SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, &old_interrupt_);
  sigaction(SIGTERM, &action, &old_terminate_);
}

StopSignal::~StopSignal() {
  sigaction(SIGINT, &old_interrupt_, nullptr);
  sigaction(SIGTERM, &old_terminate_, nullptr);
}

}  // namespace lathe
