// Augmentation, rung 1: each step a kernel of its own.  y[N,3,H,W] f32 from images[N,H0,W0,3] u8.
//
// Idea.        As a pipeline is written first: resample, brightness, contrast, saturation, normalisation,
//              cutout, each reading what the step before has stored. The picture between the steps is kept
//              in y.
// Bytes.       12 read an output pixel (four neighbours, mostly from cache) and 12 written; then four steps
//              that read 12 and write 12 each, and cutout.
// Operations.  About 60 an output pixel.
// Bound.       Memory bandwidth, for 120 bytes where 24 are needed.
#include "hostcuda/portable/launch.h"
#include "kernels/augment/pixels.cuh"

namespace lathe::kernels {
namespace {

// One thread an output pixel; `blocks` blocks a picture. y: [n, 3, height, width]
struct Pixel {
  int64_t picture;  // below n
  int64_t index;    // in the picture
  float* red;       // of y
  int64_t plane;    // elements from red to green and from green to blue

  __device__ Pixel(int64_t block, int64_t thread, int64_t blocks, int threads, int64_t pixels, float* y)
      : picture(block / blocks),
        index(block % blocks * threads + thread),
        red(y + picture * 3 * pixels + index),
        plane(pixels) {}
  __device__ Colour load() const { return {red[0], red[plane], red[2 * plane]}; }
  __device__ void store(Colour c) const { red[0] = c.red, red[plane] = c.green, red[2 * plane] = c.blue; }
};

struct Resample {
  const uint8_t* images;  // [n, source_height, source_width, 3]
  PictureSizes sizes;
  __device__ void operator()(const Pixel& pixel, const SampleOrder& order) const {
    const auto v = static_cast<float>(pixel.index / sizes.width);
    const auto u = static_cast<float>(pixel.index % sizes.width);
    pixel.store(sample(images + pixel.picture * sizes.source_height * sizes.source_width * 3,
                       static_cast<int>(sizes.source_height), static_cast<int>(sizes.source_width),
                       fmaf(order.map.xx, u, fmaf(order.map.xy, v, order.map.x0)),
                       fmaf(order.map.yx, u, fmaf(order.map.yy, v, order.map.y0))));
  }
};

struct Brighten {
  __device__ void operator()(const Pixel& pixel, const SampleOrder& order) const {
    pixel.store(brightened(pixel.load(), order.brightness));
  }
};

struct Contrast {
  __device__ void operator()(const Pixel& pixel, const SampleOrder& order) const {
    pixel.store(blend(pixel.load(), order.mean, order.contrast));
  }
};

struct Saturate {
  __device__ void operator()(const Pixel& pixel, const SampleOrder& order) const {
    const Colour c = pixel.load();
    pixel.store(blend(c, gray(c), order.saturation));
  }
};

struct Normalise {
  ColourScale colour;
  __device__ void operator()(const Pixel& pixel, const SampleOrder&) const {
    const Colour c = pixel.load();
    pixel.store({fmaf(c.red, colour.scale[0], colour.offset[0]),
                 fmaf(c.green, colour.scale[1], colour.offset[1]),
                 fmaf(c.blue, colour.scale[2], colour.offset[2])});
  }
};

struct CutOut {
  int64_t width;
  __device__ void operator()(const Pixel& pixel, const SampleOrder& order) const {
    const int64_t row = pixel.index / width, column = pixel.index % width;
    if (row >= order.cutout_top && row < order.cutout_bottom && column >= order.cutout_left &&
        column < order.cutout_right)
      pixel.store({0, 0, 0});
  }
};

template <typename Step>
__global__ void augment_01_step(Step step,
                                const SampleOrder* orders,  // [n]
                                float* y,                   // [n, 3, height, width]
                                int64_t pixels, int64_t blocks LATHE_FLAT) {
  const Pixel pixel(int64_t(blockIdx.x), int64_t(threadIdx.x), blocks, static_cast<int>(blockDim.x), pixels,
                    y);
  if (pixel.index < pixels) step(pixel, orders[pixel.picture]);
}

template <typename Step>
void run(Step step, const SampleOrder* orders, const Augment& p, cudaStream_t stream) {
  constexpr int kThreads = 256;
  const int64_t pixels = p.sizes.height * p.sizes.width, blocks = blocks_for(pixels, kThreads);
  launch_flat<augment_01_step<Step>>(static_cast<unsigned int>(p.n * blocks), kThreads, stream, step, orders,
                                     p.y, pixels, blocks);
}

}  // namespace

void augment_step_by_step(const Augment& p, cudaStream_t stream) {
  const SampleOrder* orders = make_orders(p, stream);
  run(Resample{p.images, p.sizes}, orders, p, stream);
  run(Brighten(), orders, p, stream);
  run(Contrast(), orders, p, stream);
  run(Saturate(), orders, p, stream);
  run(Normalise{p.colour}, orders, p, stream);
  run(CutOut{p.sizes.width}, orders, p, stream);
}

}  // namespace lathe::kernels
