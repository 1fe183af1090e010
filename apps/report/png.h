// Pictures inside an HTML page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/picture.h"

namespace lathe {

// "data:image/png;base64,…" of the picture, first reduced so that no side is longer than `longest` pixels.
std::string png_data_uri(const Picture& picture, int64_t longest);

std::string base64(std::span<const uint8_t> bytes);

}  // namespace lathe
