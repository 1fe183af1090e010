// What augmentation does to one sample: the parameters as drawn, and the affine map that they make. A
// function of (seed, epoch, sample index) alone, the same on the device and on the host, so that a log or a
// preview can tell it.
#pragma once

#include <cuda_runtime.h>

#include <cmath>
#include <cstdint>

#include "kernels/random/philox.h"

namespace lathe::kernels {

// How much of everything; 0 is off. Lengths are pixels of the output picture.
struct Augmentation {
  double crop = 0;          // pad by that many pixels, then crop: a whole-pixel offset in ±crop on each axis
  double resized_crop = 0;  // smallest share of the source's area; aspect 3/4 to 4/3 (log-uniform), any place
  double flip = 0;          // probability of a left-right flip
  double rotation = 0;      // degrees, uniform in ±rotation
  double zoom = 0;          // scale factor uniform in 1 ± zoom
  double shift = 0;         // share of width and of height, uniform in ±shift on each axis
  double brightness = 0;    // factor uniform in 1 ± brightness; likewise contrast and saturation
  double contrast = 0;
  double saturation = 0;
  double cutout = 0;  // side of a square that is blanked; its centre is any pixel, so it may stick out
  bool operator==(const Augmentation&) const = default;
};

struct PictureSizes {
  int64_t source_height, source_width, height, width;
};

// What one sample undergoes.
struct AugmentationDraw {
  int64_t crop_x, crop_y;                      // pixels
  double box_x, box_y, box_width, box_height;  // the resized crop, as shares of the source
  bool flip;
  double rotation;  // degrees, counter-clockwise as seen
  double zoom;
  double shift_x, shift_y;  // pixels, to the right and down
  double brightness, contrast, saturation;
  int64_t cutout_x, cutout_y;  // top left corner; may be negative
};

// The random word of each parameter, its own whether others are used or not: turning one option on leaves the
// others' values as they were. Never renumber: a seed's pictures would change.
enum class AugmentationSlot : uint32_t {
  crop_x = 0,
  crop_y = 1,
  flip = 2,
  rotation = 3,
  zoom = 4,
  shift_x = 5,
  shift_y = 6,
  brightness = 7,
  contrast = 8,
  saturation = 9,
  cutout_x = 10,
  cutout_y = 11,
  box_area = 12,
  box_aspect = 13,
  box_x = 14,
  box_y = 15,
};

// The random words of one sample in one epoch.
struct AugmentationWords {
  uint64_t seed, epoch, sample;
  __host__ __device__ uint32_t word(AugmentationSlot slot) const {
    auto index = static_cast<uint32_t>(slot);
    return philox(seed, random_stream(RandomUse::augment, index / 4, epoch),
                  sample)[static_cast<int>(index % 4)];
  }
  // Uniform in [low, high); exactly `low` where the two are equal.
  __host__ __device__ double between(AugmentationSlot slot, double low, double high) const {
    return low + (high - low) * static_cast<double>(uniform(word(slot)));
  }
  __host__ __device__ int64_t less_than(AugmentationSlot slot, int64_t limit) const {
    return below(word(slot), static_cast<uint32_t>(limit));
  }
};

__host__ __device__ inline double clamp_to(double value, double low, double high) {
  return fmin(fmax(value, low), high);
}

// The resized crop. An aspect that does not fit into the source is never drawn, so no draw is repeated.
__host__ __device__ inline void draw_box(const Augmentation& a, const PictureSizes& sizes,
                                         const AugmentationWords& words, AugmentationDraw& draw) {
  using Slot = AugmentationSlot;
  draw.box_x = draw.box_y = 0;
  draw.box_width = draw.box_height = 1;
  if (a.resized_crop == 0) return;
  double area = words.between(Slot::box_area, a.resized_crop, 1);
  double source_aspect = static_cast<double>(sizes.source_width) / static_cast<double>(sizes.source_height);
  double low = clamp_to(0.75, source_aspect * area, source_aspect / area);
  double high = clamp_to(4.0 / 3.0, source_aspect * area, source_aspect / area);
  double aspect = exp(words.between(Slot::box_aspect, log(low), log(high)));
  draw.box_width = fmin(1.0, sqrt(area * aspect / source_aspect));
  draw.box_height = fmin(1.0, area / draw.box_width);
  draw.box_x = words.between(Slot::box_x, 0, 1 - draw.box_width);
  draw.box_y = words.between(Slot::box_y, 0, 1 - draw.box_height);
}

// Steps are counted from 0 and kept to 40 bits (random_stream).
__host__ __device__ inline AugmentationDraw draw_augmentation(const Augmentation& a,
                                                              const PictureSizes& sizes, uint64_t seed,
                                                              uint64_t epoch, uint64_t sample) {
  using Slot = AugmentationSlot;
  const AugmentationWords words{seed, epoch, sample};
  auto margin = static_cast<int64_t>(a.crop), side = static_cast<int64_t>(a.cutout);
  AugmentationDraw draw;
  draw_box(a, sizes, words, draw);
  draw.crop_x = words.less_than(Slot::crop_x, 2 * margin + 1) - margin;
  draw.crop_y = words.less_than(Slot::crop_y, 2 * margin + 1) - margin;
  draw.flip = uniform(words.word(Slot::flip)) < a.flip;
  draw.rotation = words.between(Slot::rotation, -a.rotation, a.rotation);
  draw.zoom = words.between(Slot::zoom, 1 - a.zoom, 1 + a.zoom);
  draw.shift_x = words.between(Slot::shift_x, -a.shift, a.shift) * static_cast<double>(sizes.width);
  draw.shift_y = words.between(Slot::shift_y, -a.shift, a.shift) * static_cast<double>(sizes.height);
  draw.brightness = words.between(Slot::brightness, 1 - a.brightness, 1 + a.brightness);
  draw.contrast = words.between(Slot::contrast, 1 - a.contrast, 1 + a.contrast);
  draw.saturation = words.between(Slot::saturation, 1 - a.saturation, 1 + a.saturation);
  draw.cutout_x = words.less_than(Slot::cutout_x, sizes.width) - side / 2;
  draw.cutout_y = words.less_than(Slot::cutout_y, sizes.height) - side / 2;
  return draw;
}

// Output pixel (x, y) shows the source at column xx·x + xy·y + x0, row yx·x + yy·y + y0, where pixel centres
// are whole numbers. Exact for whole-pixel moves and flips.
struct AffineMap {
  float xx, xy, x0, yx, yy, y0;
};

// The source is cropped (box), stretched to the output's size, moved by the crop, flipped, rotated and zoomed
// about the centre, and shifted, in this order; the map is the way back.
__host__ __device__ inline AffineMap affine_map(const AugmentationDraw& draw, const PictureSizes& sizes) {
  auto width = static_cast<double>(sizes.width), height = static_cast<double>(sizes.height);
  double scale_x = draw.box_width * static_cast<double>(sizes.source_width) / width;
  double scale_y = draw.box_height * static_cast<double>(sizes.source_height) / height;
  double radians = draw.rotation * (3.14159265358979323846 / 180);
  double cosine = cos(radians) / draw.zoom, sine = sin(radians) / draw.zoom;
  double mirror = draw.flip ? -1 : 1;
  double xx = scale_x * mirror * cosine, xy = -scale_x * mirror * sine, yx = scale_y * sine,
         yy = scale_y * cosine;
  // The output's pixel (0, 0) seen from the picture's centre, before the shift.
  double u = 0.5 - width / 2 - draw.shift_x, v = 0.5 - height / 2 - draw.shift_y;
  double x0 = xx * u + xy * v + scale_x * (width / 2 + static_cast<double>(draw.crop_x)) - 0.5 +
              draw.box_x * static_cast<double>(sizes.source_width);
  double y0 = yx * u + yy * v + scale_y * (height / 2 + static_cast<double>(draw.crop_y)) - 0.5 +
              draw.box_y * static_cast<double>(sizes.source_height);
  return {static_cast<float>(xx), static_cast<float>(xy), static_cast<float>(x0),
          static_cast<float>(yx), static_cast<float>(yy), static_cast<float>(y0)};
}

}  // namespace lathe::kernels
