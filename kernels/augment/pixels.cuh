// What augmentation does to one pixel, and what a sample's pixels share; for every rung.
#pragma once

#include "kernels/augment/ladder.h"

namespace lathe::kernels {

struct SampleOrder {
  AffineMap map;
  float brightness, contrast, saturation;
  float mean;  // gray, of the source picture after brightness
  int cutout_left, cutout_top, cutout_right, cutout_bottom;
};

// Works out problem.n orders in the problem's workspace.
SampleOrder* make_orders(const Augment& problem, cudaStream_t stream);

struct Colour {
  float red, green, blue;
};

__device__ inline float gray(Colour c) { return fmaf(0.299f, c.red, fmaf(0.587f, c.green, 0.114f * c.blue)); }
__device__ inline float clamped(float value) { return fminf(fmaxf(value, 0.0f), 255.0f); }
__device__ inline float blend(float a, float b, float share_of_b) { return fmaf(share_of_b, b - a, a); }
__device__ inline Colour load(const uint8_t* pixel) {
  return {static_cast<float>(pixel[0]), static_cast<float>(pixel[1]), static_cast<float>(pixel[2])};
}
__device__ inline Colour brightened(Colour c, float factor) {
  return {clamped(c.red * factor), clamped(c.green * factor), clamped(c.blue * factor)};
}
// Away from `other` where factor > 1; c itself where it is 1.
__device__ inline Colour blend(Colour c, float other, float factor) {
  return {clamped(blend(c.red, other, 1 - factor)), clamped(blend(c.green, other, 1 - factor)),
          clamped(blend(c.blue, other, 1 - factor))};
}

// The picture at a point; black outside. Neighbours are clamped to the picture.
__device__ inline Colour sample(const uint8_t* picture, int height, int width, float column, float row) {
  if (column < -0.5f || row < -0.5f || column > static_cast<float>(width) - 0.5f ||
      row > static_cast<float>(height) - 0.5f)
    return {0, 0, 0};
  float left = floorf(column), top = floorf(row);
  float right_share = column - left, bottom_share = row - top;
  int x = static_cast<int>(left), y = static_cast<int>(top);
  int64_t x0 = x < 0 ? 0 : x, x1 = x + 1 < width ? x + 1 : width - 1;
  int64_t y0 = y < 0 ? 0 : y, y1 = y + 1 < height ? y + 1 : height - 1;
  Colour a = load(picture + (y0 * width + x0) * 3), b = load(picture + (y0 * width + x1) * 3);
  Colour c = load(picture + (y1 * width + x0) * 3), d = load(picture + (y1 * width + x1) * 3);
  return {blend(blend(a.red, b.red, right_share), blend(c.red, d.red, right_share), bottom_share),
          blend(blend(a.green, b.green, right_share), blend(c.green, d.green, right_share), bottom_share),
          blend(blend(a.blue, b.blue, right_share), blend(c.blue, d.blue, right_share), bottom_share)};
}

}  // namespace lathe::kernels
