// Resizing: values of Pillow's BILINEAR, identities, and the limits.
#include "datasets/resize.h"

#include <gtest/gtest.h>

#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

// A gray row or column from numbers.
Picture row_of(const std::vector<int>& values, bool column = false) {
  const auto count = static_cast<int64_t>(values.size());
  Picture picture(column ? count : 1, column ? 1 : count);
  for (int64_t i = 0; i < count; ++i) std::fill_n(&picture.rgb[3 * i], 3, static_cast<uint8_t>(values[i]));
  return picture;
}

std::vector<int> values_of(const Picture& picture) {
  std::vector<int> values;
  for (size_t i = 0; i < picture.rgb.size(); i += 3) values.push_back(picture.rgb[i]);
  return values;
}

TEST(Resize, SameSizeIsTheSamePicture) {
  const Picture picture = gradient(13, 17);
  EXPECT_EQ(resize(picture, 13, 17).rgb, picture.rgb);
  EXPECT_EQ(resize(picture, Box{0, 0, 17, 13}, 13, 17).rgb, picture.rgb);
}

TEST(Resize, AConstantStaysConstant) {
  for (const int64_t side : {1, 3, 32, 100, 257}) {
    const Picture result = resize(flat(37, 61, 10, 128, 255), side, side);
    EXPECT_EQ(result.rgb, flat(side, side, 10, 128, 255).rgb) << side;
  }
}

TEST(Resize, GrowingIsBilinear) {
  // Output centres at -0.25, 0.25, 0.75, 1.25 of the input's; the ends are held.
  EXPECT_EQ(values_of(resize(row_of({0, 200}), 1, 4)), (std::vector{0, 50, 150, 200}));
  EXPECT_EQ(values_of(resize(row_of({0, 200}, true), 4, 1)), (std::vector{0, 50, 150, 200}));
}

TEST(Resize, ShrinkingIsAntialiased) {
  // By two, the triangle reaches over four inputs: 1/8, 3/8, 3/8, 1/8, and at the ends 3/7, 3/7, 1/7.
  EXPECT_EQ(values_of(resize(row_of({0, 0, 0, 240, 240, 240}), 1, 3)), (std::vector{0, 120, 240}));
  EXPECT_EQ(values_of(resize(row_of({0, 0, 80, 80, 0, 0}), 1, 3)), (std::vector{11, 60, 11}));
  // One-pixel stripes become gray, not a moire of black and white.
  std::vector<int> stripes(256);
  for (size_t i = 1; i < stripes.size(); i += 2) stripes[i] = 255;
  for (const int value : values_of(resize(row_of(stripes), 1, 19))) EXPECT_NEAR(value, 128, 6);
}

TEST(Resize, ABoxIsAPartOfThePicture) {
  EXPECT_EQ(values_of(resize(row_of({9, 20, 40, 9}), Box{1, 0, 3, 1}, 1, 2)), (std::vector{20, 40}));
}

TEST(Resize, FitModes) {
  Picture wide = flat(4, 12, 0, 0, 0);  // black, white, black thirds
  for (int64_t y = 0; y < 4; ++y) std::fill_n(wide.pixel(y, 4), 12, 255);
  EXPECT_EQ(fit_square(wide, 4, Fit::crop).rgb, flat(4, 4, 255, 255, 255).rgb);
  const Picture stretched = fit_square(wide, 6, Fit::stretch);
  EXPECT_EQ(stretched.height, 6);
  EXPECT_LT(stretched.pixel(3, 0)[0], 20);
  const Picture padded = fit_square(flat(4, 12, 255, 255, 255), 6, Fit::pad);
  for (int64_t y = 0; y < 6; ++y) EXPECT_EQ(padded.pixel(y, 3)[0], y == 2 || y == 3 ? 255 : 0) << y;
  EXPECT_EQ(fit_square(flat(1, 1, 5, 6, 7), 32, Fit::crop).rgb, flat(32, 32, 5, 6, 7).rgb);
  EXPECT_EQ(fit_square(flat(1, 5, 5, 6, 7), 32, Fit::crop).rgb, flat(32, 32, 5, 6, 7).rgb);
}

TEST(Resize, AThinPictureIsRefusedNotBlownUp) {
  // Shorter side to 256 would be 256 x 512000 = 131 million pixels.
  const Error error = error_of([] { fit_square(flat(2000, 1, 0, 0, 0), 256, Fit::crop); });
  EXPECT_EQ(error.code(), ExitCode::data);
  EXPECT_TRUE(mentions(error.what(), {"1x2000", "256x512000", "limit"}));
  EXPECT_EQ(error_of([] { resize(flat(2000, 1, 0, 0, 0), 512000, 256); }).code(), ExitCode::data);
  EXPECT_EQ(fit_square(flat(2000, 1, 9, 9, 9), 256, Fit::stretch).height, 256);
}

}  // namespace
}  // namespace lathe
