// JPEG through libjpeg-turbo. Its C interface leaves by longjmp on an error, so no object with a destructor
// lives in a function that may be jumped out of.
#include "datasets/decode_backends.h"
#include "engine/runtime/error.h"

#ifdef LATHE_LIBJPEG

#include <csetjmp>
#include <cstdio>
// jpeglib.h needs <cstdio> before it.
#include <jerror.h>
#include <jpeglib.h>

namespace lathe {
namespace {

struct Reader {
  jpeg_decompress_struct jpeg{};
  jpeg_error_mgr errors{};
  jpeg_progress_mgr progress{};
  std::jmp_buf on_error;
  char reason[JMSG_LENGTH_MAX] = "";

  ~Reader() { jpeg_destroy_decompress(&jpeg); }
};

Reader& reader_of(j_common_ptr jpeg) { return *static_cast<Reader*>(jpeg->client_data); }

[[noreturn]] void fail(j_common_ptr jpeg) {
  Reader& reader = reader_of(jpeg);
  jpeg->err->format_message(jpeg, reader.reason);
  std::longjmp(reader.on_error, 1);
}

// libjpeg goes on after a warning, with invented pixels. Those that mean lost data are errors here; remarks
// about harmless oddities (stray bytes before a marker, an odd Adobe or JFIF version) are not.
void warn(j_common_ptr jpeg, int level) {
  if (level >= 0) return;
  switch (jpeg->err->msg_code) {
    case JWRN_JPEG_EOF:
    case JWRN_HIT_MARKER:
    case JWRN_HUFF_BAD_CODE:
    case JWRN_MUST_RESYNC:
    case JWRN_NOT_SEQUENTIAL:
      fail(jpeg);
    default:
      break;
  }
}

// A small file can ask for thousands of passes over a large picture.
void limit_scans(j_common_ptr jpeg) {
  if (reinterpret_cast<j_decompress_ptr>(jpeg)->input_scan_number <= 500) return;
  Reader& reader = reader_of(jpeg);
  std::snprintf(reader.reason, sizeof reader.reason, "more than 500 scans");
  std::longjmp(reader.on_error, 1);
}

// Opens the file; false after an error.
bool begin(Reader& reader, std::span<const uint8_t> bytes) {
  reader.jpeg.err = jpeg_std_error(&reader.errors);
  reader.errors.error_exit = fail;
  reader.errors.emit_message = warn;
  reader.jpeg.client_data = &reader;
  if (setjmp(reader.on_error) != 0) return false;
  jpeg_create_decompress(&reader.jpeg);
  reader.progress.progress_monitor = limit_scans;
  reader.jpeg.progress = &reader.progress;
  jpeg_mem_src(&reader.jpeg, bytes.data(), bytes.size());
  jpeg_read_header(&reader.jpeg, TRUE);
  const bool four = reader.jpeg.jpeg_color_space == JCS_CMYK || reader.jpeg.jpeg_color_space == JCS_YCCK;
  reader.jpeg.out_color_space = four ? JCS_CMYK : JCS_RGB;
  jpeg_start_decompress(&reader.jpeg);
  return true;
}

// Reads all rows to pixels, [height, row_bytes]; false after an error.
bool read_rows(Reader& reader, uint8_t* pixels, int64_t row_bytes) {
  if (setjmp(reader.on_error) != 0) return false;
  while (reader.jpeg.output_scanline < reader.jpeg.output_height) {
    JSAMPROW row = pixels + reader.jpeg.output_scanline * row_bytes;
    jpeg_read_scanlines(&reader.jpeg, &row, 1);
  }
  jpeg_finish_decompress(&reader.jpeg);
  return true;
}

}  // namespace

bool has_libjpeg() { return true; }

Picture decode_libjpeg(std::span<const uint8_t> bytes) {
  Reader reader;
  if (!begin(reader, bytes)) throw Error(ExitCode::data, std::string("damaged JPEG: ") + reader.reason);
  Picture picture(reader.jpeg.output_height, reader.jpeg.output_width);
  const bool four = reader.jpeg.output_components == 4;
  std::vector<uint8_t> cmyk(four ? picture.height * picture.width * 4 : 0);
  if (!read_rows(reader, four ? cmyk.data() : picture.rgb.data(), picture.width * (four ? 4 : 3))) {
    throw Error(ExitCode::data, std::string("damaged JPEG: ") + reader.reason);
  }
  for (int64_t i = 0; i < static_cast<int64_t>(cmyk.size()) / 4; ++i) {  // stored inverted: 255 is no ink
    for (int c = 0; c < 3; ++c) {
      picture.rgb[3 * i + c] = static_cast<uint8_t>((cmyk[4 * i + c] * cmyk[4 * i + 3] + 127) / 255);
    }
  }
  return picture;
}

}  // namespace lathe

#else

namespace lathe {

bool has_libjpeg() { return false; }
Picture decode_libjpeg(std::span<const uint8_t>) {
  throw Error(ExitCode::data, "built without libjpeg-turbo");
}

}  // namespace lathe

#endif
