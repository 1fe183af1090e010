// Pictures as data URIs.
#include "apps/report/png.h"

#include <algorithm>

#include "datasets/png.h"
#include "datasets/resize.h"

namespace lathe {

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
