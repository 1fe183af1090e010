// Augmentation: what a sample undergoes depends on (seed, epoch, index) alone; the pixels are exact where
// nothing changes, and right in every part; evaluation only resizes and normalises.
#include <cmath>
#include <set>

#include "layers/augment/augment_options.h"
#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

using kernels::affine_map;
using kernels::AffineMap;
using kernels::AugmentationDraw;
using kernels::draw_augmentation;
using kernels::PictureSizes;

constexpr PictureSizes k32{32, 32, 32, 32};
const Normalization kPlain;

Tensor numbers(std::vector<double> values) {
  auto n = static_cast<int64_t>(values.size());
  return tensor({n}, std::move(values), DType::i64);
}
Tensor number(double value) { return scalar(value, DType::i64); }

struct Job {
  AugmentOptions options = {};
  Normalization normalization = {};
  int64_t height = 0, width = 0;  // 0: the source's
  double seed = 1, epoch = 0;
};

// Augments images [N,H,W,3] whose sample indices count from 0.
Tensor augment(const std::string& kind, const Tensor& images, const Job& job) {
  std::vector<double> samples;
  for (int64_t i = 0; i < images.type.shape[0]; ++i) samples.push_back(static_cast<double>(i));
  int64_t height = job.height ? job.height : images.type.shape[1],
          width = job.width ? job.width : images.type.shape[2];
  return run("augment", kind, {images, numbers(samples), number(job.seed), number(job.epoch)},
             augment_attributes(job.options, job.normalization, height, width))[0];
}
Tensor pictures(Shape shape, uint64_t seed) { return integers(std::move(shape), seed, 0, 256, DType::u8); }
Tensor flat_colour(double red, double green, double blue) {
  Tensor image = filled({1, 4, 4, 3}, 0, DType::u8);
  for (size_t i = 0; i < 16; ++i)
    image.values[3 * i] = red, image.values[3 * i + 1] = green, image.values[3 * i + 2] = blue;
  return image;
}
double value(const Tensor& y, int64_t n, int64_t c, int64_t row, int64_t column) {
  const Shape& s = y.type.shape;
  return y.values[((n * s[1] + c) * s[2] + row) * s[3] + column];
}
// The 8-bit value of an output that is normalised by kPlain.
double bits(double y) { return y * 255; }

TEST(Augment, EvaluationNormalisesExactly) {
  const double expected[3][3] = {
      {-2.117904, -2.035714, -1.804444}, {0.074065, 0.205182, 0.426492}, {2.248908, 2.428571, 2.64}};
  const double levels[3] = {0, 128, 255};
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    for (size_t i = 0; i < 3; ++i) {
      Tensor y = augment(kind, flat_colour(levels[i], levels[i], levels[i]),
                         {.normalization = parse_normalize("imagenet")});
      for (int64_t c = 0; c < 3; ++c) EXPECT_NEAR(value(y, 0, c, 1, 2), expected[i][c], 2e-6) << kind;
    }
  }
}

TEST(Augment, NothingOnKeepsEveryPixelWhateverTheSeed) {
  Tensor images = pictures({3, 7, 17, 3}, 1);
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor y = augment(kind, images, {});
    expect_same(augment(kind, images, {.seed = 9, .epoch = 5}), y);
    for (int64_t i = 0; i < 3 * 7 * 17 * 3; ++i) {
      int64_t c = i % 3, column = i / 3 % 17, row = i / 51 % 7, n = i / 357;
      EXPECT_EQ(std::round(bits(value(y, n, c, row, column))), images.values[i]);
      EXPECT_NEAR(value(y, n, c, row, column), images.values[i] / 255, 1e-7);
    }
  }
}

TEST(Augment, FlipsAndWholePixelCropsMovePixelsUnchanged) {
  Tensor images = pictures({16, 9, 9, 3}, 2);
  AugmentOptions options{.crop = 3, .flip = 0.5};
  PictureSizes sizes{9, 9, 9, 9};
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor plain = augment(kind, images, {}), y = augment(kind, images, {.options = options});
    for (int64_t n = 0; n < 16; ++n) {
      AugmentationDraw draw = draw_augmentation(options, sizes, 1, 0, n);
      for (int64_t row = 0; row < 9; ++row) {
        for (int64_t column = 0; column < 9; ++column) {
          int64_t from_row = row + draw.crop_y, from_column = (draw.flip ? 8 - column : column) + draw.crop_x;
          bool inside = from_row >= 0 && from_row < 9 && from_column >= 0 && from_column < 9;
          for (int64_t c = 0; c < 3; ++c)
            EXPECT_EQ(value(y, n, c, row, column), inside ? value(plain, n, c, from_row, from_column) : 0)
                << n;
        }
      }
    }
  }
}

// The augmented colour of a picture of one colour, for the first sample of the first epoch.
std::array<double, 3> coloured(const std::string& kind, const Tensor& image, const AugmentOptions& options,
                               double seed) {
  Tensor y = augment(kind, image, {.options = options, .seed = seed});
  return {bits(value(y, 0, 0, 1, 1)), bits(value(y, 0, 1, 1, 1)), bits(value(y, 0, 2, 1, 1))};
}
// A seed with which sample 0 draws at least (sign > 0) or at most (sign < 0) the given factor.
double seed_where(double AugmentationDraw::*factor, const AugmentOptions& options, double bound, int sign) {
  for (uint64_t seed = 0; seed < 100000; ++seed)
    if ((draw_augmentation(options, {4, 4, 4, 4}, seed, 0, 0).*factor - bound) * sign >= 0)
      return static_cast<double>(seed);
  throw std::logic_error("no such seed");
}

TEST(Augment, ColoursSaturateAndNeverWrap) {
  AugmentOptions bright{.brightness = 1}, colourful{.saturation = 1}, contrasting{.contrast = 1};
  double doubled = seed_where(&AugmentationDraw::brightness, bright, 1.99, 1);
  double unsaturated = seed_where(&AugmentationDraw::saturation, colourful, 0.002, -1);
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    EXPECT_NEAR(coloured(kind, flat_colour(200, 50, 0), bright, doubled)[0], 255,
                1e-4);  // 144 had it wrapped
    EXPECT_NEAR(coloured(kind, flat_colour(200, 50, 0), bright, doubled)[1], 100, 1);
    for (double channel : coloured(kind, flat_colour(255, 0, 0), colourful, unsaturated))
      EXPECT_NEAR(channel, 76, 1);
    for (double level : {128.0, 255.0}) {
      for (double channel : coloured(kind, flat_colour(level, level, level), colourful, 3))
        EXPECT_NEAR(channel, level, 1e-3);
      // One flat gray picture is its own mean: contrast changes nothing.
      for (double channel : coloured(kind, flat_colour(level, level, level), contrasting, 3))
        EXPECT_NEAR(channel, level, 1e-3);
    }
  }
}

TEST(Augment, ContrastIsAboutThePicturesMeanGray) {
  // Left half 50, right half 150: mean 100, so each half moves by (factor - 1) · 50.
  Tensor image = filled({1, 4, 4, 3}, 50, DType::u8);
  for (size_t i = 0; i < image.values.size(); ++i) image.values[i] = i / 3 % 4 < 2 ? 50 : 150;
  AugmentOptions options{.contrast = 0.5};
  double factor = draw_augmentation(options, {4, 4, 4, 4}, 1, 0, 0).contrast;
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor y = augment(kind, image, {.options = options});
    EXPECT_NEAR(bits(value(y, 0, 1, 2, 0)), 100 - 50 * factor, 1e-3);
    EXPECT_NEAR(bits(value(y, 0, 1, 2, 3)), 100 + 50 * factor, 1e-3);
  }
}

TEST(Augment, CutoutBlanksASquareToTheMean) {
  AugmentOptions options{.cutout = 5};
  PictureSizes sizes{12, 12, 12, 12};
  Tensor images = pictures({8, 12, 12, 3}, 3);
  Job job{.options = options, .normalization = {{0.53, 0.47, 0.41}, {0.25, 0.25, 0.25}}};
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor plain = augment(kind, images, {.normalization = job.normalization}),
           y = augment(kind, images, job);
    for (int64_t n = 0; n < 8; ++n) {
      AugmentationDraw draw = draw_augmentation(options, sizes, 1, 0, n);
      for (int64_t row = 0; row < 12; ++row) {
        for (int64_t column = 0; column < 12; ++column) {
          bool blank = row >= draw.cutout_y && row < draw.cutout_y + 5 && column >= draw.cutout_x &&
                       column < draw.cutout_x + 5;
          EXPECT_EQ(value(y, n, 1, row, column), blank ? 0 : value(plain, n, 1, row, column));
        }
      }
    }
  }
}

TEST(Augment, ResizesWithAlignedCentres) {
  // A ramp along x stays a ramp under bilinear enlargement; its ends are held.
  Tensor image = filled({1, 2, 4, 3}, 0, DType::u8);
  for (size_t i = 0; i < image.values.size(); ++i) image.values[i] = 40.0 * static_cast<double>(i / 3 % 4);
  const double expected[8] = {0, 10, 30, 50, 70, 90, 110, 120};
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor y = augment(kind, image, {.height = 4, .width = 8});
    for (int64_t column = 0; column < 8; ++column)
      EXPECT_NEAR(bits(value(y, 0, 2, 3, column)), expected[column], 1e-4);
  }
}

TEST(Augment, RotationIsCounterClockwiseAboutTheCentre) {
  PictureSizes sizes{5, 5, 5, 5};
  AugmentationDraw draw = draw_augmentation({}, sizes, 1, 0, 0);
  draw.rotation = 90;
  AffineMap map = affine_map(draw, sizes);
  // What is at the top (column 2, row 0) afterwards was at the right (column 4, row 2).
  EXPECT_NEAR(map.xx * 2 + map.xy * 0 + map.x0, 4, 1e-5);
  EXPECT_NEAR(map.yx * 2 + map.yy * 0 + map.y0, 2, 1e-5);
  draw.rotation = 0;
  draw.zoom = 2;  // a corner shows what was half as far from the centre
  map = affine_map(draw, sizes);
  EXPECT_NEAR(map.x0, 1, 1e-6);
  EXPECT_NEAR(map.xx, 0.5, 1e-6);
  draw.zoom = 1;
  draw.shift_x = 1.5;  // the picture moves to the right
  EXPECT_NEAR(affine_map(draw, sizes).x0, -1.5, 1e-6);
}

TEST(Augment, ImplementationsAgree) {
  AugmentOptions geometry{.crop = 2, .flip = 0.5, .rotation = 30, .zoom = 0.3, .shift = 0.2};
  AugmentOptions everything = geometry;
  everything.resized_crop = 0.3;
  everything.brightness = everything.contrast = everything.saturation = 0.7;
  everything.cutout = 3;
  for (const AugmentOptions& options : {AugmentOptions{}, geometry, everything}) {
    for (auto [h0, w0, h, w] : {std::array<int64_t, 4>{7, 7, 7, 7},
                                {1, 1, 3, 3},
                                {17, 33, 9, 16},
                                {8, 9, 33, 17},
                                {40, 40, 32, 32}}) {
      AugmentOptions fitting = options;
      if (h < 4) fitting.crop = std::min(fitting.crop, 1.0);
      Tensor images = pictures({5, h0, w0, 3}, 4);
      expect_agree("augment", {images, numbers({0, 5, 7, 1'000'000'000'000, 3}), number(7), number(2)},
                   augment_attributes(fitting, parse_normalize("cifar10"), h, w), {1e-5, 1e-4});
    }
  }
}

TEST(Augment, ASampleDoesNotDependOnItsBatch) {
  AugmentOptions options = parse_augment("heavy", 32);
  Tensor images = pictures({3, 32, 32, 3}, 5), second = pictures({1, 32, 32, 3}, 0);
  std::copy(images.values.begin() + 3072, images.values.begin() + 2 * 3072, second.values.begin());
  Attributes attributes = augment_attributes(options, kPlain, 32, 32);
  for (const std::string& kind : Registry::instance().kinds("augment")) {
    Tensor all = run("augment", kind, {images, numbers({4, 11, 6}), number(1), number(3)}, attributes)[0];
    Tensor alone = run("augment", kind, {second, numbers({11}), number(1), number(3)}, attributes)[0];
    expect_same(alone, tensor({1, 3, 32, 32}, {all.values.begin() + 3072, all.values.begin() + 2 * 3072}));
  }
}

TEST(AugmentDraw, DependsOnSeedEpochAndSampleAlone) {
  AugmentOptions options = parse_augment("heavy", 32);
  std::set<std::array<double, 4>> seen;
  int flips = 0;
  for (uint64_t seed : {1, 2}) {
    for (uint64_t epoch = 0; epoch < 3; ++epoch) {
      for (uint64_t sample = 0; sample < 64; ++sample) {
        AugmentationDraw draw = draw_augmentation(options, k32, seed, epoch, sample),
                         again = draw_augmentation(options, k32, seed, epoch, sample);
        EXPECT_EQ(draw.rotation, again.rotation);
        if (seed == 1) flips += draw.flip;
        seen.insert({draw.rotation, draw.zoom, draw.brightness, draw.saturation});
      }
    }
  }
  EXPECT_EQ(seen.size(), 2u * 3 * 64);  // no two alike
  EXPECT_NEAR(flips / 192.0, 0.5, 0.13);
}

TEST(AugmentDraw, TurningOneOptionOnLeavesTheOthersAsTheyWere) {
  AugmentOptions some{.flip = 0.5, .rotation = 10}, more = parse_augment("heavy", 32);
  more.rotation = 10;
  more.resized_crop = 0.5;
  for (uint64_t sample = 0; sample < 64; ++sample) {
    AugmentationDraw a = draw_augmentation(some, k32, 1, 2, sample),
                     b = draw_augmentation(more, k32, 1, 2, sample);
    EXPECT_EQ(a.flip, b.flip);
    EXPECT_EQ(a.rotation, b.rotation);
  }
}

TEST(AugmentDraw, FillsItsRanges) {
  AugmentOptions options{.crop = 4,
                         .resized_crop = 0.25,
                         .rotation = 20,
                         .zoom = 0.2,
                         .shift = 0.1,
                         .contrast = 0.5,
                         .cutout = 8};
  std::set<int64_t> crops, cutouts;
  double least = 100, most = -100, sum = 0;
  constexpr int kDraws = 4000;
  for (uint64_t sample = 0; sample < kDraws; ++sample) {
    AugmentationDraw draw = draw_augmentation(options, k32, 3, 0, sample);
    crops.insert(draw.crop_x);
    cutouts.insert(draw.cutout_y);
    least = std::min(least, draw.rotation);
    most = std::max(most, draw.rotation);
    sum += draw.rotation;
    EXPECT_TRUE(draw.zoom >= 0.8 && draw.zoom <= 1.2 && draw.contrast >= 0.5 && draw.contrast <= 1.5);
    EXPECT_LE(std::abs(draw.shift_x), 3.2);
    double area = draw.box_width * draw.box_height, aspect = draw.box_width / draw.box_height;
    EXPECT_TRUE(area >= 0.25 - 1e-9 && area <= 1 && aspect >= 0.75 - 1e-9 && aspect <= 4.0 / 3 + 1e-9)
        << area << " " << aspect;
    EXPECT_TRUE(draw.box_x >= 0 && draw.box_x + draw.box_width <= 1 + 1e-12);
    EXPECT_TRUE(draw.box_y >= 0 && draw.box_y + draw.box_height <= 1 + 1e-12);
  }
  EXPECT_EQ(crops.size(), 9u);  // -4 … 4
  EXPECT_EQ(*crops.begin(), -4);
  EXPECT_EQ(cutouts.size(), 32u);  // the centre is any pixel
  EXPECT_EQ(*cutouts.begin(), -4);
  EXPECT_TRUE(least >= -20 && least < -19.8 && most <= 20 && most > 19.8);
  EXPECT_NEAR(sum / kDraws, 0, 0.6);
}

TEST(Augment, RefusesWhatDoesNotFit) {
  Tensor images = pictures({2, 8, 8, 3}, 1), samples = numbers({0, 1}), one = number(1);
  auto with = [](const AugmentOptions& options) { return augment_attributes(options, kPlain, 8, 8); };
  expect_refused("augment", {images, numbers({0}), one, one}, with({}), "i64[2]");
  expect_refused("augment", {pictures({2, 8, 8, 4}, 1), samples, one, one}, with({}), "u8[N, H, W, 3]");
  expect_refused("augment", {random({2, 8, 8, 3}, 1), samples, one, one}, with({}), "u8[N, H, W, 3]");
  expect_refused("augment", {images, samples, scalar(1), one}, with({}), "i64 scalar");
  expect_refused("augment", {images, samples, one, one}, with({.crop = 8}), "does not leave anything");
  expect_refused("augment", {images, samples, one, one}, with({.cutout = 9}), "covers");
  expect_refused("augment", {images, samples, one, one}, with({.flip = 2}), "flip");
}

}  // namespace
}  // namespace lathe::testing
