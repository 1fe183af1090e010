// Writes PNG files.
#pragma once

#include <string>
#include <vector>

#include "datasets/picture.h"

namespace lathe {

// Throws Error(data) for a picture whose bytes do not match its size, Error(failure) if memory runs out.
std::vector<uint8_t> encode_png(const Picture& picture);

// Writes the whole file or none of it (AtomicFile). Throws Error(failure) with path and cause.
void write_png(const std::string& path, const Picture& picture);

}  // namespace lathe
