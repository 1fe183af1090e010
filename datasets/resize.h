// Resizing on the host, and the fitting of pictures of any size into one stage size.
#pragma once

#include "datasets/picture.h"

namespace lathe {

// A part of a picture in pixel coordinates: columns [x0,x1), rows [y0,y1); fractions are allowed.
struct Box {
  double x0, y0, x1, y1;
};

// The part of a picture inside box, at height x width. The filter is a triangle as wide as the reduction, so
// shrinking is antialiased and growing is bilinear: Pillow's BILINEAR, but rounded once, at the end.
// Throws Error(data) if the result would have more than kMaxPixels.
Picture resize(const Picture& picture, const Box& box, int64_t height, int64_t width);
Picture resize(const Picture& picture, int64_t height, int64_t width);

// How a picture becomes a square.
enum class Fit {
  crop,     // the shorter side becomes the stage's side, the middle of the longer is kept
  stretch,  // both sides become the stage's side
  pad,      // the longer side becomes the stage's side, black on both sides of the shorter
};

// The picture at size x size. Throws Error(data) where crop's resized picture, before it is cropped, would
// have more than kMaxPixels: a picture so thin (1x2000) is a mistake, not a sample.
Picture fit_square(const Picture& picture, int64_t size, Fit fit);

}  // namespace lathe
