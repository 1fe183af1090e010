// The layout that this build's library computes fastest in: what --layout native means.
#pragma once

#include "engine/graph/types.h"

namespace lathe {

Layout native_layout();  // oneDNN: nchw16c with AVX-512, else nchw8c; cuDNN: nhwc

}  // namespace lathe
