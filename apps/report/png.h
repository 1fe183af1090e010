// Pictures inside an HTML page.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "datasets/picture.h"

namespace lathe {

// A whole PNG file. Error(data) where the picture is empty or its bytes do not match its size.
std::vector<uint8_t> encode_png(const Picture& picture);

// "data:image/png;base64,…" of the picture, first reduced so that no side is longer than `longest` pixels.
std::string png_data_uri(const Picture& picture, int64_t longest);

std::string base64(std::span<const uint8_t> bytes);

}  // namespace lathe
