#include "layers/native_layout.h"

namespace lathe {

Layout native_layout() { return Layout::nhwc; }

}  // namespace lathe
