// The augmentation ladder: a batch of 8-bit pictures on the way to the network's input: geometry (one affine
// map, one bilinear resampling), then colour, then cutout, then scaling and normalisation.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "kernels/augment/draw.h"

namespace lathe::kernels {

// y = value · scale + offset for a colour value in [0, 255]: (value / 255 − mean) / deviation.
struct ColourScale {
  float scale[3], offset[3];
};

// Each value of y is in turn:
//   resampled   bilinear; the source's edge pixels reach to its border, beyond it is black
//   coloured    c·brightness, then c + (1 − contrast)·(mean − c), then c + (1 − saturation)·(gray − c),
//               clamped to [0, 255] after each; gray = 0.299 R + 0.587 G + 0.114 B of the pixel, mean = that
//               of the whole source picture after brightness
//   blanked     inside the cutout: 0
//   normalised  outside the cutout
// Factors of 1 and whole-pixel moves change no bit. The rungs give the same bits.
struct Augment {
  const uint8_t* images;   // [n, source_height, source_width, 3], RGB
  const int64_t* samples;  // [n]: their numbers in the dataset
  const int64_t* seed;     // one number on the device, as epoch
  const int64_t* epoch;
  Augmentation augmentation;
  ColourScale colour;
  PictureSizes sizes;
  int64_t n;
  void* workspace;  // augment_workspace_bytes(), aligned to 8
  float* y;         // [n, 3, height, width]
};
int64_t augment_workspace_bytes(const PictureSizes& sizes, int64_t n);

void augment_step_by_step(const Augment& problem, cudaStream_t stream);  // 01
void augment_fused(const Augment& problem, cudaStream_t stream);         // 02

}  // namespace lathe::kernels
