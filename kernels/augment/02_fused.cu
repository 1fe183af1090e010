// Augmentation, rung 2: one fused kernel.  y[N,3,H,W] f32 from images[N,H0,W0,3] u8.
//
// Idea.        A thread takes an output pixel through every step while it is in registers, so that the
//              picture is read and written once. All geometry is folded into one affine map, worked out for
//              each sample before, so that a pixel is resampled once.
// Bytes.       12 read an output pixel (four neighbours, mostly from cache) and 12 written.
// Operations.  About 60 an output pixel.
// Bound.       Writing y on a GPU; on a CPU the scattered loads of bytes.
#include "hostcuda/portable/launch.h"
#include "kernels/augment/pixels.cuh"

namespace lathe::kernels {
namespace {

// One thread an output pixel; `blocks` blocks a picture.
__global__ void augment_02_fused(const uint8_t* images,      // [n, source_height, source_width, 3]
                                 const SampleOrder* orders,  // [n]
                                 ColourScale colour, PictureSizes sizes, int64_t blocks,
                                 float* y  // [n, 3, height, width]
                                     LATHE_FLAT) {
  int64_t picture = blockIdx.x / blocks;
  int64_t pixel = (blockIdx.x % blocks) * blockDim.x + threadIdx.x;
  int64_t pixels = sizes.height * sizes.width;
  if (pixel >= pixels) return;
  const SampleOrder& order = orders[picture];
  int row = static_cast<int>(pixel) / static_cast<int>(sizes.width);
  int column = static_cast<int>(pixel) - row * static_cast<int>(sizes.width);
  float* out = y + picture * 3 * pixels + pixel;
  if (row >= order.cutout_top && row < order.cutout_bottom && column >= order.cutout_left &&
      column < order.cutout_right) {
    out[0] = out[pixels] = out[2 * pixels] = 0;
    return;
  }
  auto u = static_cast<float>(column), v = static_cast<float>(row);
  Colour c = sample(images + picture * sizes.source_height * sizes.source_width * 3,
                    static_cast<int>(sizes.source_height), static_cast<int>(sizes.source_width),
                    fmaf(order.map.xx, u, fmaf(order.map.xy, v, order.map.x0)),
                    fmaf(order.map.yx, u, fmaf(order.map.yy, v, order.map.y0)));
  c = brightened(c, order.brightness);
  c = blend(c, order.mean, order.contrast);
  c = blend(c, gray(c), order.saturation);
  out[0] = fmaf(c.red, colour.scale[0], colour.offset[0]);
  out[pixels] = fmaf(c.green, colour.scale[1], colour.offset[1]);
  out[2 * pixels] = fmaf(c.blue, colour.scale[2], colour.offset[2]);
}

}  // namespace

void augment_fused(const Augment& p, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const SampleOrder* orders = make_orders(p, stream);
  const int64_t blocks = blocks_for(p.sizes.height * p.sizes.width, kThreads);
  launch_flat<augment_02_fused>(static_cast<unsigned int>(p.n * blocks), kThreads, stream, p.images, orders,
                                p.colour, p.sizes, blocks, p.y);
}

}  // namespace lathe::kernels
