// A decoded picture on the host.
#pragma once

#include <cstdint>
#include <vector>

namespace lathe {

// [height, width, 3], row-major, interleaved RGB, 8 bits.
struct Picture {
  int64_t height = 0;
  int64_t width = 0;
  std::vector<uint8_t> rgb;

  Picture() = default;
  Picture(int64_t rows, int64_t columns) : height(rows), width(columns), rgb(rows * columns * 3) {}
  uint8_t* pixel(int64_t y, int64_t x) { return rgb.data() + (y * width + x) * 3; }
  const uint8_t* pixel(int64_t y, int64_t x) const { return rgb.data() + (y * width + x) * 3; }
};

// No picture may have more pixels than this, neither as stored nor after resizing.
constexpr int64_t kMaxPixels = int64_t{64} << 20;

}  // namespace lathe
