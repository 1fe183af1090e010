// The libraries behind decode(), which has checked the file's header before it calls them.
#pragma once

#include <cstdint>
#include <span>

#include "datasets/picture.h"

namespace lathe {

bool has_libjpeg();
// JPEG of any kind. Throws Error(data) with libjpeg's reason.
Picture decode_libjpeg(std::span<const uint8_t> bytes);
// PNG, BMP and baseline JPEG. Throws Error(data) with stb_image's reason.
Picture decode_stb(std::span<const uint8_t> bytes);

}  // namespace lathe
