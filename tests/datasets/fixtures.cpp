// See fixtures.h.
#include "tests/datasets/fixtures.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
// jpeglib.h needs <cstdio> before it.
#include <jpeglib.h>

#include "datasets/png.h"

#define STBI_WRITE_NO_STDIO
#define STB_IMAGE_WRITE_STATIC
#define STB_IMAGE_WRITE_IMPLEMENTATION
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wunused-function"
#pragma GCC diagnostic ignored "-Wmissing-field-initializers"
#include <stb/stb_image_write.h>
#pragma GCC diagnostic pop

namespace lathe {
namespace fs = std::filesystem;

TempFolder::TempFolder() {
  std::string pattern = (fs::temp_directory_path() / "lathe_datasets_XXXXXX").native();
  if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  root_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  fs::remove_all(root_, ignored);
}

std::string TempFolder::write(const std::string& name, const Bytes& bytes) const {
  const fs::path file = path(name);
  fs::create_directories(file.parent_path());
  std::ofstream(file, std::ios::binary)
      .write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  return file.native();
}

void TempFolder::make_folder(const std::string& name) const { fs::create_directories(path(name)); }

Picture flat(int64_t height, int64_t width, uint8_t red, uint8_t green, uint8_t blue) {
  Picture picture(height, width);
  for (size_t i = 0; i < picture.rgb.size(); i += 3) {
    picture.rgb[i] = red, picture.rgb[i + 1] = green, picture.rgb[i + 2] = blue;
  }
  return picture;
}

Picture gradient(int64_t height, int64_t width) {
  Picture picture(height, width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      uint8_t* out = picture.pixel(y, x);
      out[0] = static_cast<uint8_t>(x * 4), out[1] = static_cast<uint8_t>(y * 4);
      out[2] = static_cast<uint8_t>(x * y);
    }
  }
  return picture;
}

Bytes png_of(int value) {
  return encode_png(flat(4, 4, static_cast<uint8_t>(value), static_cast<uint8_t>(value >> 8), 77));
}

Bytes jpeg(const Picture& picture, const JpegOptions& options) {
  jpeg_compress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg.err = jpeg_std_error(&errors);
  jpeg_create_compress(&jpeg);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&jpeg, &buffer, &size);
  jpeg.image_width = static_cast<JDIMENSION>(picture.width);
  jpeg.image_height = static_cast<JDIMENSION>(picture.height);
  jpeg.input_components = options.cmyk ? 4 : options.gray ? 1 : 3;
  jpeg.in_color_space = options.cmyk ? JCS_CMYK : options.gray ? JCS_GRAYSCALE : JCS_RGB;
  jpeg_set_defaults(&jpeg);
  jpeg_set_quality(&jpeg, options.quality, TRUE);
  if (options.full_chroma) jpeg.comp_info[0].h_samp_factor = jpeg.comp_info[0].v_samp_factor = 1;
  if (options.progressive) jpeg_simple_progression(&jpeg);
  jpeg_start_compress(&jpeg, TRUE);
  if (options.orientation != 0) {
    const auto tag = static_cast<uint8_t>(options.orientation);
    const Bytes exif = {
        'E',  'x',  'i', 'f', 0, 0, 'M', 'M', 0, 42,  0, 0, 0, 8, 0, 1,  // big-endian, one entry
        0x01, 0x12, 0,   3,   0, 0, 0,   1,   0, tag, 0, 0, 0, 0, 0, 0};
    jpeg_write_marker(&jpeg, JPEG_APP0 + 1, exif.data(), static_cast<unsigned>(exif.size()));
  }
  for (int64_t y = 0; y < picture.height; ++y) {
    Bytes line;
    for (int64_t x = 0; x < picture.width; ++x) {
      const uint8_t* in = picture.pixel(y, x);
      line.insert(line.end(), in, in + (options.gray ? 1 : 3));
      if (options.cmyk) line.push_back(128);
    }
    JSAMPROW row = line.data();
    jpeg_write_scanlines(&jpeg, &row, 1);
  }
  jpeg_finish_compress(&jpeg);
  jpeg_destroy_compress(&jpeg);
  Bytes result(buffer, buffer + size);
  std::free(buffer);
  return result;
}

namespace {

void append_big(Bytes& to, uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) to.push_back(static_cast<uint8_t>(value >> shift));
}

void append_chunk(Bytes& to, const PngChunk& chunk) {
  append_big(to, static_cast<uint32_t>(chunk.body.size()));
  Bytes covered(chunk.type.begin(), chunk.type.end());
  covered.insert(covered.end(), chunk.body.begin(), chunk.body.end());
  uint32_t crc = 0xffffffffu;
  for (const uint8_t byte : covered) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? 0xedb88320u : 0);
  }
  to.insert(to.end(), covered.begin(), covered.end());
  append_big(to, ~crc);
}

// A zlib stream of one stored block.
Bytes stored(const Bytes& data) {
  const auto size = static_cast<uint16_t>(data.size());
  Bytes result = {0x78,
                  0x01,
                  1,
                  static_cast<uint8_t>(size),
                  static_cast<uint8_t>(size >> 8),
                  static_cast<uint8_t>(~size),
                  static_cast<uint8_t>(static_cast<uint16_t>(~size) >> 8)};
  result.insert(result.end(), data.begin(), data.end());
  uint32_t a = 1, b = 0;
  for (const uint8_t byte : data) a = (a + byte) % 65521, b = (b + a) % 65521;
  append_big(result, b << 16 | a);
  return result;
}

}  // namespace

Bytes raw_png(uint32_t width, uint32_t height, int bits, int colour_type, const Bytes& lines, bool interlaced,
              const std::vector<PngChunk>& before_data) {
  Bytes png = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
  Bytes header;
  append_big(header, width);
  append_big(header, height);
  for (const int value : {bits, colour_type, 0, 0, interlaced ? 1 : 0})
    header.push_back(static_cast<uint8_t>(value));
  append_chunk(png, {"IHDR", header});
  for (const PngChunk& chunk : before_data) append_chunk(png, chunk);
  append_chunk(png, {"IDAT", stored(lines)});
  append_chunk(png, {"IEND", {}});
  return png;
}

Bytes bmp(const Picture& picture) {
  Bytes bytes;
  const auto append = [](void* to, void* data, int size) {
    auto* out = static_cast<Bytes*>(to);
    out->insert(out->end(), static_cast<uint8_t*>(data), static_cast<uint8_t*>(data) + size);
  };
  stbi_write_bmp_to_func(append, &bytes, static_cast<int>(picture.width), static_cast<int>(picture.height), 3,
                         picture.rgb.data());
  return bytes;
}

Error error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos)
        << "an error is one line: " << error.what();
    return error;
  }
  ADD_FAILURE() << "no error was thrown";
  return {ExitCode::done, ""};
}

testing::AssertionResult mentions(const std::string& text, const std::vector<std::string>& parts) {
  for (const std::string& part : parts) {
    if (text.find(part) == std::string::npos) {
      return testing::AssertionFailure() << "'" << part << "' is not in: " << text;
    }
  }
  return testing::AssertionSuccess();
}

NumberSource::NumberSource(int64_t size, int64_t classes, std::vector<int64_t> broken)
    : size_(size), broken_(std::move(broken)) {
  for (int64_t i = 0; i < classes; ++i) classes_.push_back("class" + std::to_string(i));
}

Picture NumberSource::read(int64_t index) const {
  if (std::find(broken_.begin(), broken_.end(), index) != broken_.end()) {
    throw Error(ExitCode::data, name(index) + ": broken");
  }
  return flat(2, 2, static_cast<uint8_t>(index), static_cast<uint8_t>(label(index)), 0);
}

}  // namespace lathe
