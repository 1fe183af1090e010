// PNG through stb_image_write, put in place in one step.
#include "datasets/png.h"

#include <span>

#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"

#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace lathe {

std::vector<uint8_t> encode_png(const Picture& picture) {
  const bool sound = picture.height > 0 && picture.width > 0 &&
                     picture.width <= kMaxPixels / picture.height &&
                     static_cast<int64_t>(picture.rgb.size()) == picture.height * picture.width * 3;
  if (!sound) throw Error(ExitCode::data, "a picture without pixels, or with too many, cannot be a PNG");
  std::vector<uint8_t> bytes;
  const auto append = [](void* context, void* data, int size) {
    auto* to = static_cast<std::vector<uint8_t>*>(context);
    to->insert(to->end(), static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
  };
  const int width = static_cast<int>(picture.width), height = static_cast<int>(picture.height);
  if (stbi_write_png_to_func(append, &bytes, width, height, 3, picture.rgb.data(), 3 * width) == 0) {
    throw Error(ExitCode::failure, "a PNG could not be encoded");
  }
  return bytes;
}

void write_png(const std::string& path, const Picture& picture) {
  AtomicFile file(path);
  const std::vector<uint8_t> bytes = encode_png(picture);
  file.write(std::as_bytes(std::span(bytes)));
  file.commit();
}

}  // namespace lathe
