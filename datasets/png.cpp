// PNG through stb_image_write, put in place in one step.
#include "datasets/png.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

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
  const std::vector<uint8_t> bytes = encode_png(picture);
  const std::string temporary = path + ".tmp" + std::to_string(getpid());
  const int file = open(temporary.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  bool good = file >= 0;
  for (size_t at = 0; good && at < bytes.size();) {
    const ssize_t written = write(file, bytes.data() + at, bytes.size() - at);
    if (written > 0) at += static_cast<size_t>(written);
    good = written > 0 || (written < 0 && errno == EINTR);
  }
  good = good && fsync(file) == 0;
  int cause = errno;
  if (file >= 0 && close(file) != 0 && good) good = false, cause = errno;
  if (good && std::rename(temporary.c_str(), path.c_str()) != 0) good = false, cause = errno;
  if (good) return;
  if (file >= 0) unlink(temporary.c_str());
  throw Error(ExitCode::failure, path + ": cannot be written: " + std::strerror(cause));
}

}  // namespace lathe
