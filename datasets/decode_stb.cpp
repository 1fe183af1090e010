// PNG, BMP and baseline JPEG through stb_image; its other formats are compiled out.
#include <cstdlib>
#include <memory>

#include "datasets/decode_backends.h"
#include "engine/runtime/error.h"

namespace {

// A compressed stream may claim to hold far more than its picture: no buffer grows beyond this.
constexpr size_t kMaxBytes = size_t{1} << 30;

void* limited_malloc(size_t bytes) { return bytes > kMaxBytes ? nullptr : std::malloc(bytes); }
void* limited_realloc(void* block, size_t bytes) {
  return bytes > kMaxBytes ? nullptr : std::realloc(block, bytes);
}

}  // namespace

#define STBI_MALLOC(bytes) limited_malloc(bytes)
#define STBI_REALLOC(block, bytes) limited_realloc(block, bytes)
#define STBI_FREE(block) std::free(block)
#define STBI_ONLY_JPEG
#define STBI_ONLY_PNG
#define STBI_ONLY_BMP
#define STBI_NO_STDIO
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#include <stb/stb_image.h>
#pragma GCC diagnostic pop

namespace lathe {

Picture decode_stb(std::span<const uint8_t> bytes) {
  int width = 0, height = 0, channels = 0;
  // Always four channels, so that transparency is seen here and not dropped.
  const std::unique_ptr<stbi_uc, void (*)(void*)> rgba(
      stbi_load_from_memory(bytes.data(), static_cast<int>(bytes.size()), &width, &height, &channels, 4),
      std::free);
  if (!rgba) {
    const char* reason = stbi_failure_reason();  // one a thread
    const bool known = reason != nullptr && *reason != '\0';
    throw Error(ExitCode::data,
                std::string("damaged or unsupported picture: ") + (known ? reason : "no reason"));
  }
  Picture picture(height, width);
  for (int64_t i = 0; i < picture.height * picture.width; ++i) {
    const int alpha = rgba.get()[4 * i + 3];
    for (int c = 0; c < 3; ++c) {  // over white
      const int colour = rgba.get()[4 * i + c];
      picture.rgb[3 * i + c] = static_cast<uint8_t>((colour * alpha + 255 * (255 - alpha) + 127) / 255);
    }
  }
  return picture;
}

}  // namespace lathe
