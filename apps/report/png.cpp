// stb_image_write compresses; it is compiled into this file alone.
#include "apps/report/png.h"

#include <fmt/format.h>

#include <algorithm>

#include "datasets/resize.h"
#include "engine/runtime/error.h"

#define STB_IMAGE_WRITE_IMPLEMENTATION
#define STB_IMAGE_WRITE_STATIC
#define STBI_WRITE_NO_STDIO
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace lathe {

std::vector<uint8_t> encode_png(const Picture& picture) {
  const int64_t width = picture.width, height = picture.height;
  if (width < 1 || height < 1 || width > kMaxPixels / height ||
      picture.rgb.size() != static_cast<size_t>(width * height * 3)) {
    throw Error(ExitCode::data, fmt::format("a picture of {}x{} with {} bytes cannot be written as PNG",
                                            width, height, picture.rgb.size()));
  }
  std::vector<uint8_t> file;
  const auto append = [](void* to, void* data, int size) {
    const auto* bytes = static_cast<const uint8_t*>(data);
    static_cast<std::vector<uint8_t>*>(to)->insert(static_cast<std::vector<uint8_t>*>(to)->end(), bytes,
                                                   bytes + size);
  };
  if (stbi_write_png_to_func(append, &file, static_cast<int>(width), static_cast<int>(height), 3,
                             picture.rgb.data(), static_cast<int>(width * 3)) == 0) {
    throw Error(ExitCode::failure, "out of memory while writing a PNG");
  }
  return file;
}

std::string png_data_uri(const Picture& picture, int64_t longest) {
  const int64_t side = std::max(picture.width, picture.height);
  if (side <= longest) return "data:image/png;base64," + base64(encode_png(picture));
  const auto reduced = [&](int64_t extent) { return std::max<int64_t>(1, extent * longest / side); };
  return "data:image/png;base64," +
         base64(encode_png(resize(picture, reduced(picture.height), reduced(picture.width))));
}

std::string base64(std::span<const uint8_t> bytes) {
  constexpr char kDigits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t at = 0; at < bytes.size(); at += 3) {
    const size_t n = std::min<size_t>(3, bytes.size() - at);
    uint32_t bits = 0;
    for (size_t i = 0; i < 3; ++i) bits = bits << 8 | (i < n ? bytes[at + i] : 0);
    for (size_t i = 0; i < 4; ++i) text += i <= n ? kDigits[bits >> (18 - 6 * i) & 63] : '=';
  }
  return text;
}

}  // namespace lathe
