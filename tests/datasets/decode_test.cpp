// Decoding: the values of cases.md, damaged files, and the two JPEG decoders against each other.
#include "datasets/decode.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <thread>

#include "datasets/png.h"
#include "datasets/random.h"
#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

Bytes cut(const Bytes& bytes, double share) {
  return {bytes.begin(), bytes.begin() + std::llround(share * static_cast<double>(bytes.size()))};
}

Bytes without_tail(const Bytes& bytes, size_t tail) { return {bytes.begin(), bytes.end() - tail}; }

std::vector<int> rgb(const Picture& picture, int64_t y, int64_t x) {
  const uint8_t* p = picture.pixel(y, x);
  return {p[0], p[1], p[2]};
}

int largest_difference(const Picture& a, const Picture& b) {
  EXPECT_EQ(a.height, b.height);
  EXPECT_EQ(a.width, b.width);
  int largest = 0;
  for (size_t i = 0; i < a.rgb.size(); ++i) largest = std::max(largest, std::abs(a.rgb[i] - b.rgb[i]));
  return largest;
}

// Throws std::exception of any kind but Error, or crashes, where it should not.
bool is_refused(const Bytes& bytes, Decoder decoder = Decoder::automatic) {
  try {
    decode(bytes, decoder);
    return false;
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_STRNE(error.what(), "");
    return true;
  }
}

TEST(Decode, CutFilesAreRefusedWhereverTheyAreCut) {
  const Picture picture = gradient(64, 64);
  const std::vector<Bytes> files = {jpeg(picture), jpeg(picture, {.progressive = true}), encode_png(picture),
                                    bmp(picture)};
  for (const Bytes& file : files) {
    EXPECT_FALSE(is_refused(file));
    for (const double share : {0.0, 0.01, 0.05, 0.2, 0.5, 0.9, 0.99}) {
      EXPECT_TRUE(is_refused(cut(file, share))) << share;
      EXPECT_TRUE(is_refused(cut(file, share), Decoder::stb)) << share;
    }
  }
}

TEST(Decode, JpegWithoutEndMarkerAndPngWithoutEndChunkAreRefused) {
  EXPECT_TRUE(is_refused(without_tail(jpeg(gradient(64, 64)), 2)));
  EXPECT_TRUE(is_refused(without_tail(jpeg(gradient(64, 64)), 2), Decoder::stb));
  EXPECT_TRUE(is_refused(without_tail(encode_png(gradient(64, 64)), 12)));
}

TEST(Decode, DataMissingInTheMiddleIsRefused) {
  for (const bool progressive : {false, true}) {
    Bytes bytes = jpeg(gradient(64, 64), {.progressive = progressive});
    bytes.erase(bytes.begin() + static_cast<int64_t>(bytes.size()) / 2,
                bytes.end() - 2);  // keeps the end marker
    EXPECT_TRUE(is_refused(bytes)) << progressive;
  }
  Bytes png = encode_png(gradient(64, 64));
  png[60] ^= 0x40;
  EXPECT_TRUE(mentions(error_of([&] { decode(png); }).what(), {"PNG", "IDAT"}));
}

TEST(Decode, StbNeverSeesAProgressiveJpeg) {
  const Bytes progressive = jpeg(gradient(64, 64), {.progressive = true});
  EXPECT_FALSE(is_refused(progressive));
  EXPECT_TRUE(mentions(error_of([&] { decode(progressive, Decoder::stb); }).what(), {"baseline", "stb"}));
}

TEST(Decode, StbNeverSeesJpegTablesThatAreTooLargeOrMissing) {
  const auto damaged = [](uint8_t marker, const std::function<void(uint8_t*)>& damage) {
    Bytes bytes = jpeg(gradient(64, 64));
    for (size_t i = 0; i + 1 < bytes.size(); ++i) {
      if (bytes[i] == 0xff && bytes[i + 1] == marker) damage(&bytes[i + 4]);  // the segment's body
    }
    return bytes;
  };
  const std::vector<Bytes> files = {
      damaged(0xc4, [](uint8_t* body) { std::fill_n(body + 1, 16, 0x20); }),  // 512 codes
      damaged(0xc4, [](uint8_t* body) { body[0] = 0x03; }),                   // all tables become number 3
      damaged(0xdb, [](uint8_t* body) { body[0] = 0x03; }),
      damaged(0xda, [](uint8_t* body) { body[2] = 0x33; })};
  for (const Bytes& file : files) {
    EXPECT_TRUE(mentions(error_of([&] { decode(file, Decoder::stb); }).what(), {"baseline", "stb"}));
  }
  EXPECT_TRUE(mentions(error_of([&] { decode(files[0]); }).what(), {"damaged JPEG"}));
}

TEST(Decode, BothJpegDecodersAgree) {
  Picture picture = gradient(96, 96);
  for (const bool full_chroma : {false, true}) {
    const Bytes bytes = jpeg(picture, {.quality = 75, .full_chroma = full_chroma});
    EXPECT_LE(largest_difference(decode(bytes), decode(bytes, Decoder::stb)), full_chroma ? 2 : 3);
  }
  const Bytes gray = jpeg(picture, {.gray = true});
  EXPECT_LE(largest_difference(decode(gray), decode(gray, Decoder::stb)), 2);
}

TEST(Decode, EveryKindOfPngGivesThreeChannels) {
  const Bytes gray = raw_png(1, 1, 8, 0, {0, 100});
  EXPECT_EQ(rgb(decode(gray), 0, 0), (std::vector{100, 100, 100}));
  const PngChunk palette{"PLTE", {0, 0, 0, 10, 200, 30}};
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 3, {0, 1}, false, {palette})), 0, 0), (std::vector{10, 200, 30}));
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 2, {0, 1, 2, 3})), 0, 0), (std::vector{1, 2, 3}));
}

TEST(Decode, TransparentPixelsAreOverWhite) {
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 6, {0, 200, 10, 10, 0})), 0, 0), (std::vector{255, 255, 255}));
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 6, {0, 200, 10, 10, 128})), 0, 0), (std::vector{227, 132, 132}));
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 6, {0, 200, 10, 10, 255})), 0, 0), (std::vector{200, 10, 10}));
  EXPECT_EQ(rgb(decode(raw_png(1, 1, 8, 4, {0, 100, 0})), 0, 0), (std::vector{255, 255, 255}));
  const PngChunk palette{"PLTE", {0, 0, 0, 10, 200, 30}}, clear{"tRNS", {255, 0}};
  const Bytes png = raw_png(2, 1, 8, 3, {0, 0, 1}, false, {palette, clear});
  EXPECT_EQ(rgb(decode(png), 0, 0), (std::vector{0, 0, 0}));
  EXPECT_EQ(rgb(decode(png), 0, 1), (std::vector{255, 255, 255}));
  EXPECT_EQ(read_header(png).channels, 4);
}

TEST(Decode, SixteenBitsKeepTheHighByte) {
  const Bytes png = raw_png(6, 1, 16, 0, {0, 0, 0, 0, 255, 1, 0, 0x80, 0, 0xff, 0xff, 0x80, 0xff});
  const Picture picture = decode(png);
  const std::vector<int> expected = {0, 0, 1, 128, 255, 128};
  for (int64_t x = 0; x < 6; ++x) EXPECT_NEAR(rgb(picture, 0, x)[0], expected[x], 1);
}

TEST(Decode, InterlacedPicturesOnePixelWide) {
  // Adam7 of a 1x6 picture: rows 0; 4; 2; 1, 3, 5.
  const Picture picture = decode(raw_png(1, 6, 8, 0, {0, 0, 0, 40, 0, 20, 0, 10, 0, 30, 0, 50}, true));
  ASSERT_EQ(picture.height, 6);
  for (int y = 0; y < 6; ++y) EXPECT_EQ(rgb(picture, y, 0)[0], 10 * y);
  EXPECT_EQ(decode(encode_png(flat(5, 1, 7, 8, 9))).height, 5);
}

TEST(Decode, ExifOrientationIsApplied) {
  Picture stored = flat(8, 16, 255, 0, 0);  // left half red, right half blue
  for (int64_t y = 0; y < 8; ++y) {
    for (int64_t x = 8; x < 16; ++x) stored.pixel(y, x)[0] = 0, stored.pixel(y, x)[2] = 255;
  }
  const auto decoded = [&](int orientation, Decoder decoder) {
    return decode(jpeg(stored, {.quality = 100, .full_chroma = true, .orientation = orientation}), decoder);
  };
  for (const Decoder decoder : {Decoder::automatic, Decoder::stb}) {
    const Picture six = decoded(6, decoder);
    ASSERT_EQ(six.height, 16);
    ASSERT_EQ(six.width, 8);
    EXPECT_GT(rgb(six, 0, 0)[0], 250);   // red on top
    EXPECT_GT(rgb(six, 15, 7)[2], 250);  // blue below
    EXPECT_GT(rgb(decoded(8, decoder), 0, 0)[2], 250);
    EXPECT_GT(rgb(decoded(3, decoder), 0, 0)[2], 250);
    EXPECT_GT(rgb(decoded(1, decoder), 0, 0)[0], 250);
    EXPECT_GT(rgb(decoded(0, decoder), 0, 0)[0], 250);
  }
}

TEST(Decode, AllEightOrientationsOfAnAsymmetricPicture) {
  // Gray PNG, 2 rows of 3: 0 1 2 / 3 4 5 (times 10), with an eXIf chunk.
  const Bytes lines = {0, 0, 10, 20, 0, 30, 40, 50};
  const std::vector<std::vector<int>> expected = {{0, 1, 2, 3, 4, 5}, {2, 1, 0, 5, 4, 3}, {5, 4, 3, 2, 1, 0},
                                                  {3, 4, 5, 0, 1, 2}, {0, 3, 1, 4, 2, 5}, {3, 0, 4, 1, 5, 2},
                                                  {5, 2, 4, 1, 3, 0}, {2, 5, 1, 4, 0, 3}};
  for (int orientation = 1; orientation <= 8; ++orientation) {
    const PngChunk exif{
        "eXIf",
        {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, static_cast<uint8_t>(orientation),
         0,   0,   0,  0, 0, 0, 0}};
    const Picture picture = decode(raw_png(3, 2, 8, 0, lines, false, {exif}));
    EXPECT_EQ(picture.height, orientation >= 5 ? 3 : 2);
    for (int i = 0; i < 6; ++i)
      EXPECT_EQ(picture.rgb[3 * i], 10 * expected[orientation - 1][i]) << orientation;
  }
}

TEST(Decode, CmykIsReadAsAdobesInvertedCmyk) {
  // C, M, Y = 200, 100, 50 and K = 128, where 255 is no ink.
  const Picture picture = decode(jpeg(flat(16, 16, 200, 100, 50), {.cmyk = true, .quality = 100}));
  EXPECT_NEAR(rgb(picture, 8, 8)[0], 200 * 128 / 255, 2);
  EXPECT_NEAR(rgb(picture, 8, 8)[1], 100 * 128 / 255, 2);
  EXPECT_NEAR(rgb(picture, 8, 8)[2], 50 * 128 / 255, 2);
}

TEST(Decode, BmpIsReadAndItsLengthIsChecked) {
  const Picture picture = gradient(5, 7);
  EXPECT_EQ(largest_difference(decode(bmp(picture)), picture), 0);
  EXPECT_TRUE(mentions(error_of([&] { decode(without_tail(bmp(picture), 4)); }).what(), {"BMP", "short"}));
}

// stb_image would take the colour of a pixel beyond the palette from memory that nothing wrote.
TEST(Decode, BmpPixelsStayInsideTheirPalette) {
  // 8 bits a pixel, two colours (black, white), one row of four pixels.
  const auto palette_bmp = [](uint8_t pixels_at, const Bytes& row) {
    Bytes bytes = {'B', 'M', 66, 0, 0, 0, 0, 0, 0, 0, pixels_at, 0, 0, 0, 40,
                   0,   0,   0,  4, 0, 0, 0, 1, 0, 0, 0,         1, 0, 8, 0};
    bytes.resize(54);
    bytes.insert(bytes.end(), {0, 0, 0, 0, 255, 255, 255, 0});
    bytes.insert(bytes.end(), row.begin(), row.end());
    return bytes;
  };
  const Picture picture = decode(palette_bmp(62, {0, 1, 1, 0}));
  EXPECT_EQ(picture.rgb, (Bytes{0, 0, 0, 255, 255, 255, 255, 255, 255, 0, 0, 0}));
  EXPECT_TRUE(mentions(error_of([&] { decode(palette_bmp(62, {0, 1, 2, 0})); }).what(), {"palette"}));
  for (uint8_t pixels_at : {0, 20, 54})
    EXPECT_TRUE(mentions(error_of([&] {
                           decode(palette_bmp(pixels_at, {0, 0, 0, 0}));
                         }).what(),
                         {"palette"}));
}

TEST(Decode, HugeDimensionsAreRefusedBeforeDecoding) {
  const Bytes png = raw_png(20000, 20000, 8, 2, {0});
  EXPECT_TRUE(mentions(error_of([&] { decode(png); }).what(), {"20000x20000", "limit"}));
  Bytes picture = jpeg(gradient(16, 16));
  for (size_t i = 0; i + 1 < picture.size(); ++i) {
    if (picture[i] == 0xff && picture[i + 1] == 0xc0) std::fill_n(&picture[i + 5], 4, 0xff);
  }
  EXPECT_TRUE(mentions(error_of([&] { decode(picture); }).what(), {"65535x65535", "limit"}));
}

TEST(Decode, WhatIsNoPictureSaysSo) {
  EXPECT_STREQ(error_of([] { decode(Bytes{}); }).what(), "empty file");
  EXPECT_TRUE(is_refused(Bytes(512, 0)));
  EXPECT_TRUE(is_refused({'h', 'e', 'l', 'l', 'o'}));
  EXPECT_TRUE(is_refused({0xff, 0xd8}));
  EXPECT_TRUE(is_refused({'G', 'I', 'F', '8', '9', 'a', 1, 0, 1, 0, 0, 0, 0}));  // compiled out of stb_image
  const TempFolder folder;
  const std::string path = folder.write("zero.jpg", {});
  EXPECT_TRUE(mentions(error_of([&] { decode_file(path); }).what(), {path, "empty"}));
  EXPECT_TRUE(
      mentions(error_of([&] { decode_file(folder.path("none.png")); }).what(), {"none.png", "no such"}));
  EXPECT_TRUE(mentions(error_of([&] { decode_file(folder.path()); }).what(), {"not a file"}));
}

TEST(Decode, FormatComesFromTheBytesNotTheName) {
  const TempFolder folder;
  EXPECT_EQ(rgb(decode_file(folder.write("a.jpg", encode_png(flat(2, 2, 1, 2, 3)))), 0, 0),
            (std::vector{1, 2, 3}));
}

// A decoder may refuse a damaged file or read something; it may not crash, hang or read wild memory.
TEST(Decode, RandomDamageNeverCrashes) {
  const Picture picture = gradient(24, 40);
  const std::vector<Bytes> files = {jpeg(picture, {.orientation = 6}), jpeg(picture, {.progressive = true}),
                                    encode_png(picture), bmp(picture)};
  const char* rounds = std::getenv("LATHE_FUZZ_ROUNDS");  // for a longer look
  const int total = rounds != nullptr ? std::atoi(rounds) : 400;
  Random random{1};
  for (const Bytes& file : files) {
    for (int round = 0; round < total; ++round) {
      Bytes damaged = file;
      for (uint64_t i = 0, count = 1 + random.below(6); i < count; ++i) {
        damaged[random.below(random.chance(0.5f) ? std::min<size_t>(200, damaged.size()) : damaged.size())] =
            static_cast<uint8_t>(random.bits());
      }
      for (const Decoder decoder : {Decoder::automatic, Decoder::stb}) {
        try {
          const Picture result = decode(damaged, decoder);
          EXPECT_EQ(static_cast<int64_t>(result.rgb.size()), result.height * result.width * 3);
        } catch (const Error& error) {
          EXPECT_EQ(error.code(), ExitCode::data);
        }
      }
    }
  }
}

TEST(Decode, ErrorsBelongToTheirOwnThread) {
  const Bytes good = jpeg(gradient(32, 32)), cut_short = cut(jpeg(gradient(32, 32)), 0.5);
  Bytes flipped = encode_png(gradient(32, 32));
  flipped[60] ^= 0x40;
  const Picture expected = decode(good);
  std::vector<std::jthread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 20; ++i) {
        if (t % 3 == 0) {
          EXPECT_EQ(decode(good).rgb, expected.rgb);
        } else {
          const Error error = error_of([&] { decode(t % 3 == 1 ? cut_short : flipped); });
          EXPECT_TRUE(mentions(error.what(), {t % 3 == 1 ? "JPEG" : "PNG"}));
        }
      }
    });
  }
}

TEST(Decode, DecoderNames) {
  EXPECT_EQ(parse_decoder("auto"), Decoder::automatic);
  EXPECT_EQ(parse_decoder("stb"), Decoder::stb);
  EXPECT_EQ(error_of([] { parse_decoder("turbo"); }).code(), ExitCode::usage);
}

}  // namespace
}  // namespace lathe
