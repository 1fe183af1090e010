// Each sample's order, worked out before its pixels, so that their kernels draw no random number; and the
// mean gray of each source picture, for contrast.
#include "hostcuda/portable/launch.h"
#include "kernels/augment/pixels.cuh"

namespace lathe::kernels {
namespace {

// One thread a sample. samples: [n]   orders: [n]
__global__ void make_orders_kernel(const int64_t* samples, const int64_t* seed, const int64_t* epoch,
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

}  // namespace

int64_t augment_workspace_bytes(const PictureSizes& sizes, int64_t n) {
  return n * static_cast<int64_t>(sizeof(SampleOrder)) +
         n * sizes.source_height * static_cast<int64_t>(sizeof(float));
}

SampleOrder* make_orders(const Augment& p, cudaStream_t stream) {
  constexpr int kThreads = 256;
  auto* orders = static_cast<SampleOrder*>(p.workspace);
  launch_flat<make_orders_kernel>(blocks_for(p.n, kThreads), kThreads, stream, p.samples, p.seed, p.epoch,
                                  p.augmentation, p.sizes, p.n, orders);
  if (p.augmentation.contrast > 0) {
    auto* sums = reinterpret_cast<float*>(orders + p.n);
    int64_t rows = p.n * p.sizes.source_height;
    launch_flat<sum_gray>(blocks_for(rows, kThreads), kThreads, stream, p.images, orders, rows,
                          p.sizes.source_height, p.sizes.source_width, sums);
    launch_flat<mean_gray>(blocks_for(p.n, kThreads), kThreads, stream, sums, p.n, p.sizes.source_height,
                           p.sizes.source_width, orders);
  }
  return orders;
}

}  // namespace lathe::kernels
