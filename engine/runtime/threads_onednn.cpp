// The host build: hostcuda's stream threads, on which oneDNN runs too.
#include <unistd.h>

#include <cstdlib>

#include "engine/runtime/threads.h"
#include "hostcuda/hostcuda.h"

namespace lathe {

void limit_spinning(char** argv) {
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  setenv("GOMP_SPINCOUNT", "10000", 1);
  execv("/proc/self/exe", argv);  // returns only where it fails; then the program runs on with long spins
}

void set_threads(int count) { hostcuda::set_threads(count); }

}  // namespace lathe
