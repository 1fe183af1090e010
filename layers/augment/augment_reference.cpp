// The oracle: augmentation written plainly, in double, one picture after another. It shares with the kernel
// what a sample undergoes (draw.h), not how that is done.
#include <Eigen/Core>

#include "engine/runtime/host_step.h"
#include "layers/augment/augment_options.h"
#include "layers/layer.h"

namespace lathe {
namespace {

using Colour = Eigen::Vector3d;

// A picture in doubles: [height][width] colours.
struct Plane {
  int64_t height, width;
  std::vector<Colour> pixels;
  Plane(int64_t h, int64_t w) : height(h), width(w), pixels(h * w) {}
  Colour& at(int64_t y, int64_t x) { return pixels[y * width + x]; }
  const Colour& at(int64_t y, int64_t x) const { return pixels[y * width + x]; }
  // The colour of the nearest pixel inside.
  const Colour& nearest(int64_t y, int64_t x) const {
    return at(std::clamp<int64_t>(y, 0, height - 1), std::clamp<int64_t>(x, 0, width - 1));
  }
};

double gray(const Colour& c) { return c.dot(Colour(0.299, 0.587, 0.114)); }
Colour clamped(const Colour& c) { return c.cwiseMax(0).cwiseMin(255); }
Colour blend(const Colour& c, double other, double factor) {
  return clamped(c * factor + Colour::Constant(other * (1 - factor)));
}

Plane load(const uint8_t* rgb, int64_t height, int64_t width) {
  Plane plane(height, width);
  for (size_t i = 0; i < plane.pixels.size(); ++i)
    plane.pixels[i] = Colour(rgb[3 * i], rgb[3 * i + 1], rgb[3 * i + 2]);
  return plane;
}

Plane resample(const Plane& source, const kernels::AffineMap& map, int64_t height, int64_t width) {
  Plane result(height, width);
  for (int64_t y = 0; y < height; ++y) {
    for (int64_t x = 0; x < width; ++x) {
      double dx = static_cast<double>(x), dy = static_cast<double>(y);
      double column = map.xx * dx + map.xy * dy + map.x0, row = map.yx * dx + map.yy * dy + map.y0;
      bool inside = column >= -0.5 && row >= -0.5 && column <= static_cast<double>(source.width) - 0.5 &&
                    row <= static_cast<double>(source.height) - 0.5;
      result.at(y, x) = Colour::Zero();
      if (!inside) continue;
      auto left = static_cast<int64_t>(std::floor(column)), top = static_cast<int64_t>(std::floor(row));
      double right_share = column - std::floor(column), bottom_share = row - std::floor(row);
      result.at(y, x) = (1 - bottom_share) * ((1 - right_share) * source.nearest(top, left) +
                                              right_share * source.nearest(top, left + 1)) +
                        bottom_share * ((1 - right_share) * source.nearest(top + 1, left) +
                                        right_share * source.nearest(top + 1, left + 1));
    }
  }
  return result;
}

double mean_gray(const Plane& source, double brightness) {
  double sum = 0;
  for (const Colour& c : source.pixels) sum += gray(clamped(c * brightness));
  return sum / static_cast<double>(source.pixels.size());
}

// One sample; y: [3, height, width].
void augment(const uint8_t* image, const kernels::AugmentationDraw& draw, const kernels::PictureSizes& sizes,
             int64_t cutout, const Normalization& normalization, float* y) {
  Plane source = load(image, sizes.source_height, sizes.source_width);
  Plane picture = resample(source, kernels::affine_map(draw, sizes), sizes.height, sizes.width);
  double mean = mean_gray(source, draw.brightness);
  for (int64_t row = 0; row < sizes.height; ++row) {
    for (int64_t column = 0; column < sizes.width; ++column) {
      bool blank = row >= draw.cutout_y && row < draw.cutout_y + cutout && column >= draw.cutout_x &&
                   column < draw.cutout_x + cutout;
      Colour c = blend(picture.at(row, column), 0, draw.brightness);
      c = blend(c, mean, draw.contrast);
      c = blend(c, gray(c), draw.saturation);
      for (int64_t channel = 0; channel < 3; ++channel) {
        double value = (c[channel] / 255 - normalization.mean[channel]) / normalization.deviation[channel];
        y[(channel * sizes.height + row) * sizes.width + column] = blank ? 0 : static_cast<float>(value);
      }
    }
  }
}

const RegisterImplementation reference(
    "augment", {"reference", only_row_major, [](const Call& call, const Options&) {
                  const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
                  kernels::PictureSizes sizes{in[1], in[2], out[2], out[3]};
                  auto bind = [=, n = in[0], options = augment_options(call.attributes),
                               normalization = normalization(call.attributes)](const Bindings& b) {
                    return host_step([=] {
                      for (int64_t i = 0; i < n; ++i) {
                        auto draw = kernels::draw_augmentation(options, sizes, *b.in<uint64_t>(2),
                                                               *b.in<uint64_t>(3), b.in<uint64_t>(1)[i]);
                        augment(b.in<uint8_t>(0) + i * sizes.source_height * sizes.source_width * 3, draw,
                                sizes, static_cast<int64_t>(options.cutout), normalization,
                                b.out<float>(0) + i * 3 * sizes.height * sizes.width);
                      }
                    });
                  };
                  return Prepared{bind};
                }});

}  // namespace
}  // namespace lathe
