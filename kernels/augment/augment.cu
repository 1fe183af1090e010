// Augmentation. y[N,3,H,W] f32 from images[N,H0,W0,3] u8; see augment.h for what happens to a value.
//
// Idea.   Every geometric change is folded into one affine map, so a pixel is resampled once and the picture
// is
//         read and written once. A first small kernel works out each sample's order (map, factors, cutout),
//         so that the pixels' kernel draws no random number.
// Bytes.  12 read (four neighbours, mostly from cache) and 12 written for each output pixel; about 60
// operations. Bound.  Writing y on a GPU; on a CPU the scattered byte loads.
#include <algorithm>

#include "hostcuda/portable/launch.h"
#include "kernels/augment/augment.h"

namespace lathe::kernels {
namespace {

struct SampleOrder {
  AffineMap map;
  float brightness, contrast, saturation;
  float mean;  // gray, of the source picture after brightness
  int cutout_left, cutout_top, cutout_right, cutout_bottom;
};

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

// One thread a sample. samples: [n]   orders: [n]
__global__ void make_orders(const int64_t* samples, const int64_t* seed, const int64_t* epoch,
                            Augmentation augmentation, PictureSizes sizes, int64_t n,
                            SampleOrder* orders LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  AugmentationDraw draw = draw_augmentation(augmentation, sizes, static_cast<uint64_t>(*seed),
                                            static_cast<uint64_t>(*epoch), static_cast<uint64_t>(samples[i]));
  auto left = static_cast<int>(draw.cutout_x), top = static_cast<int>(draw.cutout_y);
  auto side = static_cast<int>(augmentation.cutout);
  orders[i] = {affine_map(draw, sizes),
               static_cast<float>(draw.brightness),
               static_cast<float>(draw.contrast),
               static_cast<float>(draw.saturation),
               0,
               left,
               top,
               left + side,
               top + side};
}

// One thread a row of a source picture: the sum of its gray. images: [n, height, width, 3]   sums: [n,
// height]
__global__ void sum_gray(const uint8_t* images, const SampleOrder* orders, int64_t rows, int64_t height,
                         int64_t width, float* sums LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= rows) return;
  float factor = orders[i / height].brightness;
  float sum = 0;
  for (int64_t x = 0; x < width; ++x) sum += gray(brightened(load(images + (i * width + x) * 3), factor));
  sums[i] = sum;
}

// One thread a sample. sums: [n, height]   orders: [n]
__global__ void mean_gray(const float* sums, int64_t n, int64_t height, int64_t width,
                          SampleOrder* orders LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  double sum = 0;
  for (int64_t row = 0; row < height; ++row) sum += static_cast<double>(sums[i * height + row]);
  orders[i].mean = static_cast<float>(sum / static_cast<double>(height * width));
}

// One thread an output pixel; `blocks` blocks a picture.
__global__ void make_pixels(const uint8_t* images,      // [n, source_height, source_width, 3]
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

int64_t augment_workspace_bytes(const PictureSizes& sizes, int64_t n) {
  return n * static_cast<int64_t>(sizeof(SampleOrder)) +
         n * sizes.source_height * static_cast<int64_t>(sizeof(float));
}

void augment(const uint8_t* images, const int64_t* samples, const int64_t* seed, const int64_t* epoch,
             const Augmentation& augmentation, const ColourScale& colour, const PictureSizes& sizes,
             int64_t n, void* workspace, float* y, cudaStream_t stream) {
  constexpr int kThreads = 256;
  auto* orders = static_cast<SampleOrder*>(workspace);
  launch_flat<make_orders>(blocks_for(n, kThreads), kThreads, stream, samples, seed, epoch, augmentation,
                           sizes, n, orders);
  if (augmentation.contrast > 0) {
    auto* sums = reinterpret_cast<float*>(orders + n);
    int64_t rows = n * sizes.source_height;
    launch_flat<sum_gray>(blocks_for(rows, kThreads), kThreads, stream, images, orders, rows,
                          sizes.source_height, sizes.source_width, sums);
    launch_flat<mean_gray>(blocks_for(n, kThreads), kThreads, stream, sums, n, sizes.source_height,
                           sizes.source_width, orders);
  }
  int64_t blocks = blocks_for(sizes.height * sizes.width, kThreads);
  launch_flat<make_pixels>(static_cast<unsigned int>(n * blocks), kThreads, stream, images, orders, colour,
                           sizes, blocks, y);
}

}  // namespace lathe::kernels
