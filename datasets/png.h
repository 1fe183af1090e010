// Writes PNG files.
#pragma once

#include <string>
#include <vector>

#include "datasets/picture.h"

namespace lathe {

// Throws Error(failure) if the encoder runs out of memory.
std::vector<uint8_t> encode_png(const Picture& picture);

// Writes the whole file or none of it: a temporary file beside it, fsync, rename. Throws Error(failure) with
// path and cause; a file that was there is then unchanged.
void write_png(const std::string& path, const Picture& picture);

}  // namespace lathe
