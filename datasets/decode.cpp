// Chooses the decoder, applies the orientation; see decode.h.
#include "datasets/decode.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <memory>

#include "datasets/decode_backends.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace {

constexpr int64_t kMaxFileBytes = int64_t{1} << 30;

// The upright picture. Orientations as in EXIF 2.3, section 4.6.4: what the stored first row and column are.
Picture upright(const Picture& stored, int orientation) {
  if (orientation == 1) return stored;
  const bool swapped = orientation >= 5;
  Picture result(swapped ? stored.width : stored.height, swapped ? stored.height : stored.width);
  const int64_t bottom = stored.height - 1, right = stored.width - 1;
  const bool from_right = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
  const bool from_bottom = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
  for (int64_t y = 0; y < result.height; ++y) {
    for (int64_t x = 0; x < result.width; ++x) {
      const int64_t row = swapped ? x : y, column = swapped ? y : x;
      const uint8_t* from =
          stored.pixel(from_bottom ? bottom - row : row, from_right ? right - column : column);
      std::copy_n(from, 3, result.pixel(y, x));
    }
  }
  return result;
}

}  // namespace

Decoder parse_decoder(const std::string& name) {
  if (name == "auto") return Decoder::automatic;
  if (name == "stb") return Decoder::stb;
  throw Error(ExitCode::usage, "unknown decoder '" + printable(name) + "': use auto or stb");
}

Picture decode(std::span<const uint8_t> bytes, Decoder decoder) {
  const PictureHeader header = read_header(bytes);
  const bool is_jpeg = header.format == PictureHeader::Format::jpeg;
  if (is_jpeg && has_libjpeg() && decoder == Decoder::automatic) {
    return upright(decode_libjpeg(bytes), header.orientation);
  }
  if (is_jpeg && !header.baseline) {
    throw Error(
        ExitCode::data,
        has_libjpeg()
            ? "JPEG is damaged or not baseline, which the stb decoder cannot read: use the auto decoder"
            : "JPEG is damaged or not baseline: build with libjpeg-turbo to read it");
  }
  return upright(decode_stb(bytes), header.orientation);
}

std::vector<uint8_t> read_file(const std::string& path) {
  const auto refuse = [&](const std::string& reason) -> Error {
    return {ExitCode::data, printable(path, 4096) + ": " + reason};
  };
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(path, error);
  if (!std::filesystem::exists(status)) throw refuse("no such file");
  if (!std::filesystem::is_regular_file(status)) throw refuse("not a file");
  const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path.c_str(), "rb"), std::fclose);
  if (!file) throw refuse("cannot be opened");
  const auto size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error) throw refuse("cannot be read");
  if (size > kMaxFileBytes) throw refuse("larger than 1 GiB");
  std::vector<uint8_t> bytes(size);
  if (std::fread(bytes.data(), 1, bytes.size(), file.get()) != bytes.size()) throw refuse("cannot be read");
  return bytes;
}

Picture decode_file(const std::string& path, Decoder decoder) {
  const std::vector<uint8_t> bytes = read_file(path);
  try {
    return decode(bytes, decoder);
  } catch (const Error& error) {
    throw Error(ExitCode::data, printable(path, 4096) + ": " + error.what());
  }
}

}  // namespace lathe
