#include "engine/runtime/threads.h"

namespace lathe {

void limit_spinning(char**) {}
void set_threads(int) {}

}  // namespace lathe
