// The host build: hostcuda's stream threads, on which oneDNN runs too, take the number from here.
#include "engine/runtime/threads.h"
#include "hostcuda/hostcuda.h"

namespace lathe {

void set_threads(int count) { hostcuda::set_threads(count); }

}  // namespace lathe
