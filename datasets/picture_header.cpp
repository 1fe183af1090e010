// Walks the frames of JPEG, PNG and BMP files: dimensions, orientation, and the faults that decoders
// overlook.
#include <algorithm>
#include <array>
#include <cstring>

#include "datasets/decode.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

using Bytes = std::span<const uint8_t>;

[[noreturn]] void refuse(const std::string& reason) { throw Error(ExitCode::data, reason); }

// Unsigned numbers at an offset; the caller has checked that they are there.
uint32_t big(Bytes b, size_t at, int bytes) {
  uint32_t value = 0;
  for (int i = 0; i < bytes; ++i) value = value << 8 | b[at + i];
  return value;
}
uint32_t little(Bytes b, size_t at, int bytes) {
  uint32_t value = 0;
  for (int i = bytes; i-- > 0;) value = value << 8 | b[at + i];
  return value;
}

bool starts_with(Bytes bytes, std::initializer_list<uint8_t> magic) {
  return bytes.size() >= magic.size() && std::equal(magic.begin(), magic.end(), bytes.begin());
}

// The orientation (tag 0x0112) in a TIFF structure, or 1. TIFF 6.0, section 2; EXIF 2.3, section 4.6.
int tiff_orientation(Bytes tiff) {
  if (tiff.size() < 8) return 1;
  const bool is_little = tiff[0] == 'I';
  const auto number = [&](size_t at, int bytes) {
    return is_little ? little(tiff, at, bytes) : big(tiff, at, bytes);
  };
  const size_t directory = number(4, 4);
  if (directory + 2 > tiff.size()) return 1;
  const size_t entries = number(directory, 2);
  for (size_t i = 0; i < entries; ++i) {
    const size_t entry = directory + 2 + 12 * i;
    if (entry + 12 > tiff.size()) return 1;
    if (number(entry, 2) != 0x0112) continue;
    const uint32_t value = number(entry + 8, 2);
    return number(entry + 2, 2) == 3 && value >= 1 && value <= 8 ? static_cast<int>(value) : 1;
  }
  return 1;
}

// The tables that a JPEG has defined so far. stb_image 2.27 writes past its own for a table of more than 256
// codes and reads wild memory for one that was never defined; libjpeg looks.
struct JpegTables {
  std::array<std::array<bool, 4>, 2> huffman{};  // [DC or AC][number]
  std::array<bool, 4> quantisation{};
  bool sound = true;

  void define_huffman(Bytes body) {
    while (sound && !body.empty()) {
      const int kind = body[0] >> 4, number = body[0] & 15;
      size_t codes = 0;
      for (const uint8_t count : body.subspan(1, std::min<size_t>(16, body.size() - 1))) codes += count;
      sound = kind < 2 && number < 4 && codes <= 256 && body.size() >= 17 + codes;
      if (!sound) return;
      huffman[kind][number] = true;
      body = body.subspan(17 + codes);
    }
  }
  void define_quantisation(Bytes body) {
    while (sound && !body.empty()) {
      const int number = body[0] & 15;
      const size_t bytes = (body[0] >> 4) == 0 ? 65 : 129;
      sound = number < 4 && body.size() >= bytes;
      if (!sound) return;
      quantisation[number] = true;
      body = body.subspan(bytes);
    }
  }
  // frame: the body of the start of frame, which says each component's quantisation table.
  void use(Bytes frame, Bytes scan) {
    const size_t components = frame[5], in_scan = scan.empty() ? 0 : scan[0];
    sound = sound && frame.size() >= 6 + 3 * components && scan.size() >= 4 + 2 * in_scan;
    for (size_t i = 0; sound && i < components; ++i) {
      const int number = frame[8 + 3 * i];
      sound = number < 4 && quantisation[number];
    }
    for (size_t i = 0; sound && i < in_scan; ++i) {
      const int dc = scan[2 + 2 * i] >> 4, ac = scan[2 + 2 * i] & 15;
      sound = dc < 4 && ac < 4 && huffman[0][dc] && huffman[1][ac];
    }
  }
};

// ITU T.81, annex B: marker segments, with entropy-coded data after each start of scan, up to the end marker.
PictureHeader jpeg_header(Bytes bytes) {
  PictureHeader header{PictureHeader::Format::jpeg, 0, 0, 0, 1, true};
  JpegTables tables;
  Bytes frame;  // the body of the start of frame
  bool scan_seen = false;
  const auto cut_short = [&] {
    refuse(scan_seen ? "JPEG cut short: it has no end-of-image marker" : "JPEG cut short in its header");
  };
  size_t at = 2;
  while (true) {
    // In coded data 0xff is followed by 0 or a restart marker. Between segments there should be nothing but
    // fill bytes 0xff: libjpeg skips others, stb_image is not given them.
    const auto is_marker = [&](uint8_t b) {
      return b != 0 && b != 0xff && !(scan_seen && b >= 0xd0 && b <= 0xd7);
    };
    for (; at + 1 < bytes.size() && !(bytes[at] == 0xff && is_marker(bytes[at + 1])); ++at) {
      if (!scan_seen && bytes[at] != 0xff) header.baseline = false;
    }
    if (at + 2 > bytes.size()) cut_short();
    const uint8_t marker = bytes[at + 1];
    if (marker == 0xd9) break;
    if (at + 4 > bytes.size()) cut_short();
    const size_t length = big(bytes, at + 2, 2);
    if (length < 2 || at + 2 + length > bytes.size()) cut_short();
    const Bytes body = bytes.subspan(at + 4, length - 2);
    at += 2 + length;

    const bool is_frame =
        marker >= 0xc0 && marker <= 0xcf && marker != 0xc4 && marker != 0xc8 && marker != 0xcc;
    if (is_frame) {
      if (!frame.empty() || body.size() < 6) refuse("JPEG with a damaged header");
      frame = body;
      if (marker > 0xc1) header.baseline = false;
      header.height = big(body, 1, 2), header.width = big(body, 3, 2);
      header.channels = body[5];
    } else if (marker == 0xc4) {
      tables.define_huffman(body);
    } else if (marker == 0xdb) {
      tables.define_quantisation(body);
    } else if (marker == 0xe1 && body.size() > 6 && std::memcmp(body.data(), "Exif\0\0", 6) == 0) {
      header.orientation = tiff_orientation(body.subspan(6));
    } else if (marker == 0xda) {
      if (frame.empty()) refuse("JPEG with a damaged header");
      tables.use(frame, body);
      scan_seen = true;
    }
  }
  if (!scan_seen) refuse("JPEG without a picture");
  header.baseline = header.baseline && tables.sound;
  return header;
}

uint32_t crc32(Bytes bytes) {
  static const auto kTable = [] {
    std::array<uint32_t, 256> table{};
    for (uint32_t i = 0; i < 256; ++i) {
      uint32_t c = i;
      for (int bit = 0; bit < 8; ++bit) c = c >> 1 ^ (c & 1 ? 0xedb88320u : 0);
      table[i] = c;
    }
    return table;
  }();
  uint32_t crc = 0xffffffffu;
  for (uint8_t byte : bytes) crc = kTable[(crc ^ byte) & 0xff] ^ crc >> 8;
  return ~crc;
}

// PNG 1.2, chapters 3 and 4.
PictureHeader png_header(Bytes bytes) {
  PictureHeader header{PictureHeader::Format::png, 0, 0, 0, 1, false};
  bool has_transparency = false;
  int colour_type = 0;
  for (size_t at = 8;;) {
    if (at + 12 > bytes.size()) refuse("PNG cut short");
    const size_t length = big(bytes, at, 4);
    if (length > bytes.size() - at - 12) refuse("PNG cut short");
    const std::string type(reinterpret_cast<const char*>(&bytes[at + 4]), 4);
    const Bytes body = bytes.subspan(at + 8, length);
    const bool critical = (bytes[at + 4] & 0x20) == 0;
    if (critical && crc32(bytes.subspan(at + 4, length + 4)) != big(bytes, at + 8 + length, 4)) {
      refuse("PNG with a damaged " + type + " chunk");
    }
    if (at == 8) {
      if (type != "IHDR" || length != 13) refuse("PNG with a damaged header");
      header.width = big(body, 0, 4), header.height = big(body, 4, 4);
      colour_type = body[9];
    } else if (type == "tRNS") {
      has_transparency = true;
    } else if (type == "eXIf") {
      header.orientation = tiff_orientation(body);
    } else if (type == "IEND") {
      break;
    }
    at += 12 + length;
  }
  header.channels = (colour_type & 2 ? 3 : 1) + (colour_type & 4 || has_transparency ? 1 : 0);
  return header;
}

// stb_image reads the colours of a pixel beyond the palette from memory that nothing wrote. The palette lies
// between the headers and the pixels; stb_image counts it so.
void check_palette(Bytes bytes, uint32_t info, int64_t bits, int64_t pixels_at, int64_t row_bytes,
                   const PictureHeader& header) {
  if (bits != 1 && bits != 4 && bits != 8) refuse("BMP with a damaged header");
  const int64_t colours = info == 12 ? (pixels_at - 38) / 3 : (pixels_at - 14 - int64_t{info}) / 4;
  if (pixels_at < 14 + int64_t{info} || colours < 1 || colours > 256) refuse("BMP with a damaged palette");
  for (int64_t y = 0; y < header.height; ++y) {
    for (int64_t x = 0; x < header.width; ++x) {
      const int64_t bit = x * bits;
      const int value = bytes[static_cast<size_t>(pixels_at + y * row_bytes + bit / 8)];
      const auto shift = static_cast<int>(8 - bits - bit % 8);
      if ((value >> shift & ((1 << bits) - 1)) >= colours) refuse("BMP with a pixel outside its palette");
    }
  }
}

PictureHeader bmp_header(Bytes bytes) {
  if (bytes.size() < 26) refuse("BMP cut short");
  PictureHeader header{PictureHeader::Format::bmp, 0, 0, 3, 1, false};
  const int64_t pixels_at = little(bytes, 10, 4);
  const uint32_t info = little(bytes, 14, 4);
  int64_t bits = 0;
  if (info == 12) {
    header.width = little(bytes, 18, 2), header.height = little(bytes, 20, 2);
    bits = little(bytes, 24, 2);
  } else {
    if (info < 40 || bytes.size() < 34) refuse("BMP with a damaged header");
    header.width = static_cast<int32_t>(little(bytes, 18, 4));
    header.height = std::abs(int64_t{static_cast<int32_t>(little(bytes, 22, 4))});  // negative: top row first
    bits = little(bytes, 28, 2);
    const uint32_t compression = little(bytes, 30, 4);
    if (compression != 0 && compression != 3) refuse("compressed BMP is not supported");
  }
  if (bits == 0 || bits > 32 || header.width < 1 || header.width > kMaxPixels || header.height > kMaxPixels) {
    refuse("BMP with a damaged header");
  }
  const int64_t row_bytes = (header.width * bits + 31) / 32 * 4;
  if (pixels_at + row_bytes * header.height > static_cast<int64_t>(bytes.size())) refuse("BMP cut short");
  if (bits == 32) header.channels = 4;
  if (bits < 16) {
    if (header.height > kMaxPixels / header.width) return header;  // refused for its size by the caller
    check_palette(bytes, info, bits, pixels_at, row_bytes, header);
  }
  return header;
}

PictureHeader header_of(Bytes bytes) {
  if (bytes.empty()) refuse("empty file");
  if (starts_with(bytes, {0xff, 0xd8})) return jpeg_header(bytes);
  if (starts_with(bytes, {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'})) return png_header(bytes);
  if (starts_with(bytes, {'B', 'M'})) return bmp_header(bytes);
  refuse("not a JPEG, PNG or BMP picture");
}

}  // namespace

PictureHeader read_header(Bytes bytes) {
  const PictureHeader header = header_of(bytes);
  if (header.height < 1 || header.width < 1) refuse("picture without pixels");
  if (header.height > kMaxPixels / header.width) {
    refuse("picture of " + std::to_string(header.width) + "x" + std::to_string(header.height) +
           ", over the limit of 64 million pixels");
  }
  return header;
}

}  // namespace lathe
