// What the dataset tests build their inputs from: temporary folders, encoders for the odd corners of JPEG,
// PNG and BMP, and sources made of plain numbers.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "datasets/source.h"
#include "engine/runtime/error.h"

namespace lathe {

using Bytes = std::vector<uint8_t>;

// A folder that goes away with the test.
class TempFolder {
 public:
  TempFolder();
  ~TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  std::string path(const std::string& name = "") const { return name.empty() ? root_ : root_ + "/" + name; }
  // Writes a file; folders on the way are made. Returns its path.
  std::string write(const std::string& name, const Bytes& bytes) const;
  void make_folder(const std::string& name) const;

 private:
  std::string root_;
};

// One colour, or the smooth test picture of cases.md.
Picture flat(int64_t height, int64_t width, uint8_t red, uint8_t green, uint8_t blue);
Picture gradient(int64_t height, int64_t width);
// A small PNG whose colour depends on `value`.
Bytes png_of(int value);

struct JpegOptions {
  bool progressive = false, gray = false, cmyk = false;
  int quality = 90;
  bool full_chroma = false;  // 4:4:4
  int orientation = 0;       // 1 … 8 adds an EXIF segment
};
Bytes jpeg(const Picture& picture, const JpegOptions& options = {});

// A PNG of raw scan lines (filter bytes included) with chunks put before the data.
struct PngChunk {
  std::string type;
  Bytes body;
};
Bytes raw_png(uint32_t width, uint32_t height, int bits, int colour_type, const Bytes& lines,
              bool interlaced = false, const std::vector<PngChunk>& before_data = {});
Bytes bmp(const Picture& picture);

// The Error that action throws; a failure and an empty one if it throws none.
Error error_of(const std::function<void()>& action);
testing::AssertionResult mentions(const std::string& text, const std::vector<std::string>& parts);

// 2x2 pictures of the colour (index, label, 0); reading an index in `broken` throws.
class NumberSource final : public Source {
 public:
  NumberSource(int64_t size, int64_t classes, std::vector<int64_t> broken = {});
  int64_t size() const override { return size_; }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t index) const override {
    return index * static_cast<int64_t>(classes_.size()) / size_;
  }
  std::string name(int64_t index) const override { return "number/" + std::to_string(index); }
  Picture read(int64_t index) const override;
  std::optional<Extent> native() const override { return Extent{2, 2}; }

 private:
  int64_t size_;
  std::vector<std::string> classes_;
  std::vector<int64_t> broken_;
};

}  // namespace lathe
