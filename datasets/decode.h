// Decoding of picture files: JPEG, PNG and BMP, told apart by their first bytes, whatever they are called.
//
//   JPEG   libjpeg-turbo; with Decoder::stb, or where the library is missing, stb_image, for baseline files
//          only, with sound Huffman tables (stb_image 2.27 goes out of bounds on the others). Refused: files
//          without an end-of-image marker, and whatever libjpeg calls damaged. CMYK is read as Adobe's
//          inverted CMYK, as Pillow does. The EXIF orientation is applied.
//   PNG    stb_image. 16 bits keep the high byte. Transparent pixels are composited on white. Checksums and
//          the end are checked here, since stb_image does not. An eXIf orientation is applied.
//   BMP    stb_image: uncompressed, 1 to 32 bits. Files shorter than their pixels are refused.
//
// Gray becomes R = G = B. Dimensions are checked against kMaxPixels before anything is decoded. All functions
// may be called from many threads at once.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "datasets/picture.h"

namespace lathe {

enum class Decoder { automatic, stb };

// Throws Error(usage) for a name other than "auto" and "stb".
Decoder parse_decoder(const std::string& name);

// What a file says about itself.
struct PictureHeader {
  enum class Format { jpeg, png, bmp } format;
  int64_t height, width;  // as stored, before the orientation is applied
  int channels;           // as stored: 1 gray, 2 gray + alpha, 3 RGB or palette, 4 RGBA or CMYK
  int orientation;        // EXIF: 1 upright … 8
  bool baseline;          // JPEG: sequential Huffman coding and sound tables, which stb_image reads safely
};

// Checks a file's frame as far as that is possible without decoding its pixels.
// Throws Error(data) with the reason alone: the caller knows the name.
PictureHeader read_header(std::span<const uint8_t> bytes);

// Throws Error(data) with the reason alone.
Picture decode(std::span<const uint8_t> bytes, Decoder decoder = Decoder::automatic);

// Throws Error(data): "PATH: reason".
std::vector<uint8_t> read_file(const std::string& path);
Picture decode_file(const std::string& path, Decoder decoder = Decoder::automatic);

}  // namespace lathe
