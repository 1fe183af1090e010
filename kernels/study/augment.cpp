// Trials of the augmentation ladder.
#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "kernels/augment/ladder.h"
#include "kernels/study/ladders.h"

namespace lathe::study {
namespace {

using namespace kernels;

struct Shape {
  int64_t n;
  PictureSizes sizes;
  Augmentation augmentation;
  const char* name;
  int shift = 0;  // elements off alignment
};

constexpr int64_t kSeed = 42, kEpoch = 3;
constexpr ColourScale kColour{{0.017f, 0.0175f, 0.0174f}, {-2.1f, -2.0f, -1.8f}};

using Rgb = std::array<double, 3>;

double gray(const Rgb& c) { return 0.299 * c[0] + 0.587 * c[1] + 0.114 * c[2]; }
Rgb map(const Rgb& c, auto f) {
  Rgb out;
  std::transform(c.begin(), c.end(), out.begin(), [&](double v) { return std::clamp(f(v), 0.0, 255.0); });
  return out;
}

// One sample after the other, in double, as ladder.h tells it. The draw and its map are draw.h's.
class Picture {
 public:
  Picture(const std::vector<double>& images, int64_t number, const PictureSizes& sizes)
      : data_(&images[static_cast<size_t>(number * sizes.source_height * sizes.source_width * 3)]),
        height_(sizes.source_height),
        width_(sizes.source_width) {}

  Rgb at(int64_t row, int64_t column) const {
    const double* p =
        data_ +
        (std::clamp<int64_t>(row, 0, height_ - 1) * width_ + std::clamp<int64_t>(column, 0, width_ - 1)) * 3;
    return {p[0], p[1], p[2]};
  }
  Rgb between(double row, double column) const {
    const bool inside = row >= -0.5 && column >= -0.5 && row <= static_cast<double>(height_) - 0.5 &&
                        column <= static_cast<double>(width_) - 0.5;
    if (!inside) return {0, 0, 0};
    const double top = std::floor(row), left = std::floor(column), down = row - top, right = column - left;
    Rgb sum{};
    for (int k = 0; k < 4; ++k) {
      const double weight = (k / 2 ? down : 1 - down) * (k % 2 ? right : 1 - right);
      const Rgb c = at(static_cast<int64_t>(top) + k / 2, static_cast<int64_t>(left) + k % 2);
      for (size_t i = 0; i < 3; ++i) sum[i] += weight * c[i];
    }
    return sum;
  }
  double mean_gray(double brightness) const {
    double sum = 0;
    for (int64_t i = 0; i < height_ * width_; ++i)
      sum += gray(map(at(i / width_, i % width_), [&](double v) { return v * brightness; }));
    return sum / static_cast<double>(height_ * width_);
  }

 private:
  const double* data_;
  int64_t height_, width_;
};

std::vector<double> augmented(const std::vector<double>& images, const std::vector<double>& samples,
                              const Shape& s) {
  const PictureSizes& size = s.sizes;
  const int64_t pixels = size.height * size.width, side = static_cast<int64_t>(s.augmentation.cutout);
  std::vector<double> y(static_cast<size_t>(s.n * 3 * pixels));
  for (int64_t n = 0; n < s.n; ++n) {
    const AugmentationDraw draw = draw_augmentation(s.augmentation, size, kSeed, kEpoch,
                                                    static_cast<uint64_t>(samples[static_cast<size_t>(n)]));
    const AffineMap m = affine_map(draw, size);
    const Picture picture(images, n, size);
    const double mean = picture.mean_gray(draw.brightness);
    for (int64_t i = 0; i < pixels; ++i) {
      const int64_t row = i / size.width, column = i % size.width;
      const bool cut = row >= draw.cutout_y && row < draw.cutout_y + side && column >= draw.cutout_x &&
                       column < draw.cutout_x + side;
      if (cut) continue;
      auto along = [&](float x, float y, float start) {
        return static_cast<double>(x) * static_cast<double>(column) +
               static_cast<double>(y) * static_cast<double>(row) + static_cast<double>(start);
      };
      Rgb c = picture.between(along(m.yx, m.yy, m.y0), along(m.xx, m.xy, m.x0));
      c = map(c, [&](double v) { return v * draw.brightness; });
      c = map(c, [&](double v) { return v + (1 - draw.contrast) * (mean - v); });
      const double g = gray(c);
      c = map(c, [&](double v) { return v + (1 - draw.saturation) * (g - v); });
      for (size_t k = 0; k < 3; ++k)
        y[(static_cast<size_t>(n) * 3 + k) * static_cast<size_t>(pixels) + static_cast<size_t>(i)] =
            c[k] * static_cast<double>(kColour.scale[k]) + static_cast<double>(kColour.offset[k]);
    }
  }
  return y;
}

Trial trial(void (*launcher)(const Augment&, cudaStream_t), const Shape& s, bool expected) {
  const int64_t sources = s.n * s.sizes.source_height * s.sizes.source_width * 3;
  const int64_t outputs = s.n * s.sizes.height * s.sizes.width * 3;
  std::vector<double> images = random_values(sources, 1), samples(static_cast<size_t>(s.n));
  for (double& value : images) value = std::floor((value + 1) * 127.99);
  for (size_t i = 0; i < samples.size(); ++i) samples[i] = static_cast<double>(7 * i + 1);
  std::vector<double> y;
  if (expected) y = augmented(images, samples, s);
  Trial t;
  t.shape = fmt::format("{} of {}x{} to {}x{}, {}{}", s.n, s.sizes.source_height, s.sizes.source_width,
                        s.sizes.height, s.sizes.width, s.name, s.shift ? ", off alignment" : "");
  t.arrays = {{"images", Element::uint8, images, {}, 0, s.shift},
              {"samples", Element::int64, samples, {}, 0, s.shift},
              {"seed", Element::int64, {static_cast<double>(kSeed)}, {}},
              {"epoch", Element::int64, {static_cast<double>(kEpoch)}, {}},
              {"workspace",
               Element::uint8,
               std::vector<double>(static_cast<size_t>(augment_workspace_bytes(s.sizes, s.n))),
               {},
               0,
               0,
               true},
              {"y", Element::fp32, std::vector<double>(static_cast<size_t>(outputs), -77), y, 2e-4, s.shift}};
  t.launch = [launcher, s](std::span<void* const> p, cudaStream_t stream) {
    auto number = [&](size_t i) { return static_cast<const int64_t*>(p[i]); };
    launcher({static_cast<const uint8_t*>(p[0]), number(1), number(2), number(3), s.augmentation, kColour,
              s.sizes, s.n, p[4], static_cast<float*>(p[5])},
             stream);
  };
  t.operations = 60 * static_cast<double>(outputs) / 3;
  t.least_bytes = static_cast<double>(sources + 4 * outputs);
  return t;
}

std::vector<Shape> shapes(Purpose purpose) {
  const Augmentation none{}, moved{.crop = 4, .flip = 0.5, .cutout = 5},
      all{.crop = 2,
          .resized_crop = 0.5,
          .flip = 0.5,
          .rotation = 15,
          .zoom = 0.1,
          .shift = 0.1,
          .brightness = 0.3,
          .contrast = 0.3,
          .saturation = 0.3,
          .cutout = 7};
  switch (purpose) {
    case Purpose::trace:
      return {{8, {32, 32, 32, 32}, all, "everything"}};
    case Purpose::time:
      return {{64, {224, 224, 224, 224}, all, "everything"}};
    case Purpose::check_quick:
      return {{1, {1, 1, 1, 1}, none, "nothing"},
              {3, {17, 7, 17, 7}, moved, "moved", 1},
              {7, {32, 32, 24, 24}, all, "everything"}};
    case Purpose::check:
      break;
  }
  std::vector<Shape> list;
  for (int64_t n : {1, 3, 17})
    for (PictureSizes sizes : {PictureSizes{1, 1, 3, 3}, {3, 7, 3, 7}, {17, 17, 7, 64}, {64, 129, 17, 17}}) {
      const int shift = static_cast<int>(list.size() / 3 % 2);
      list.push_back({n, sizes, none, "nothing", shift});
      list.push_back({n, sizes, moved, "moved", shift});
      list.push_back({n, sizes, all, "everything", shift});
    }
  return list;
}

Rung rung(int number, const char* name, void (*launcher)(const Augment&, cudaStream_t),
          bool in_engine = false) {
  auto trials = [launcher](Purpose purpose, Element) {
    std::vector<Trial> list;
    for (const Shape& shape : shapes(purpose))
      list.push_back(trial(launcher, shape, purpose != Purpose::time));
    return list;
  };
  return {"augment", number, name, {Element::fp32}, trials, in_engine};
}

}  // namespace

std::vector<Rung> augment_rungs() {
  return {rung(1, "step_by_step", augment_step_by_step), rung(2, "fused", augment_fused, true)};
}

}  // namespace lathe::study
