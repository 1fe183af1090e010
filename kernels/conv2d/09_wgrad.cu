// Convolution, rung 9: the gradients of weights and bias.  dw = Σ dy · ∂y/∂w, db = Σ dy, NHWC or NCHW; fp32,
// fp16 or bf16, added and stored in fp32.
//
// Idea.        A product once more, of dy [O, pixels] and the windows [pixels, C·kernel_h·kernel_w]: small in
//              both directions, with a sum over all pixels of the batch. That sum is cut into slices, which
//              blocks make side by side, and whose results are added afterwards, always in the same order:
//              no atomics, the same bits each time. A column of ones beside the windows makes db.
// Bytes.       4·N·OH·OW·(1/64 + 1/64) an element of dw from the caches, half of that in 16 bit; 8 an element
//              and slice for the partial sums, written and read once.
// Operations.  2·N·OH·OW an element of dw.
// Bound.       As rung 3. Where C·kernel_h·kernel_w is a multiple of 64, the column of ones costs a tile.
#include <algorithm>

#include "kernels/conv2d/implicit_gemm.cuh"

namespace lathe::kernels {
namespace {

// dy as the matrix [o, pixel]. kFused: with the ReLU undone; beside the windows stand the ones of db.
template <ConvLayout layout, typename T, bool kFused>
struct OutputGradients {
  static constexpr bool k_is_contiguous = layout == ConvLayout::nchw;
  ConvShape s;
  const T* dy;  // [N,O,OH,OW] or [N,OH,OW,O]
  const T* y;   // as dy, or null

  using Outer = int64_t;  // offset of a channel in the first pixel, negative outside
  using Inner = int64_t;  // offset of a pixel in the first channel, negative outside
  __device__ Outer outer(int64_t group, int64_t o) const {
    const int64_t channel = group * s.group_outputs() + o;
    return o < s.group_outputs() ? offset<layout>(s.O, s.OH, s.OW, 0, channel, 0, 0) : -1;
  }
  __device__ Inner inner(int64_t k) const {
    const int64_t image = s.OH * s.OW, sample = k / image;
    return sample < s.N ? offset<layout>(s.O, 1, image, sample, 0, 0, k % image) : -1;
  }
  __device__ float load(Outer channel, Inner pixel) const {
    if (channel < 0 || pixel < 0) return 0;
    return kFused ? gradient_at(dy, y, channel + pixel) : static_cast<float>(dy[channel + pixel]);
  }
};

// x as the matrix [pixel, n], n running over channels and taps as they lie in memory, and then the ones.
template <ConvLayout layout, typename T, bool kFused>
struct TransposedWindows {
  static constexpr bool k_is_contiguous = layout == ConvLayout::nchw;
  ConvShape s;
  const T* x;  // [N,C,H,W] or [N,H,W,C]

  struct Outer {
    int64_t group;
    Tap tap;
    bool ones;
  };
  using Inner = Pixel;
  __device__ Outer outer(int64_t group, int64_t n) const {
    return {group, tap_at<layout>(s, n, s.group_inputs()), n == s.filter_size()};
  }
  __device__ Inner inner(int64_t k) const { return pixel_at(s, k, s.OH, s.OW); }
  __device__ float load(const Outer& at, const Pixel& pixel) const {
    if (kFused && at.ones) return pixel.inside;
    return input_at<layout>(s, x, at.group, pixel, at.tap);
  }
};

// dw and db of each slice, as the matrix [o, n].
struct WeightGradients {
  ConvShape s;
  float* dw;  // [groups, slices, O/groups, filter_size]
  float* db;  // [groups, slices, O/groups], or null
  __device__ void store(int64_t group_and_slice, int64_t m, int64_t n, float value) const {
    if (m >= s.group_outputs()) return;
    const int64_t row = group_and_slice * s.group_outputs() + m;
    if (n < s.filter_size()) dw[row * s.filter_size() + n] = value;
    if (n == s.filter_size() && db != nullptr) db[row] = value;
  }
};

__global__ void conv2d_09_add_slices(const float* __restrict__ partial,  // [groups, slices, n]
                                     float* __restrict__ sums,           // [groups, n]
                                     int64_t groups, int64_t slices, int64_t n LATHE_FLAT) {
  const int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= groups * n) return;
  const float* first = partial + i / n * slices * n + i % n;
  float sum = 0;
  for (int64_t slice = 0; slice < slices; ++slice) sum += first[slice * n];
  sums[i] = sum;
}

// Enough to fill a GPU, none shorter than 512 pixels. By shape alone, so that no device adds differently.
int64_t slices_of(const ConvShape& s) {
  const auto parts = [](int64_t n, int64_t size) { return (n + size - 1) / size; };
  const int64_t tiles = s.groups * parts(s.group_outputs(), kTile) * parts(s.filter_size() + 1, kTile);
  return std::max<int64_t>(1, std::min(1024 / tiles, s.N * s.OH * s.OW / 512));
}

void add_slices(const float* partial, float* sums, int64_t groups, int64_t slices, int64_t n,
                cudaStream_t stream) {
  constexpr int kThreads = 256;
  launch_flat<conv2d_09_add_slices>(blocks_for(groups * n, kThreads), kThreads, stream, partial, sums, groups,
                                    slices, n);
}

template <ConvLayout layout, bool kFused, typename T>
void run(const Conv2dWgrad<T>& p, cudaStream_t stream) {
  const ConvShape& s = p.shape;
  const int64_t slices = slices_of(s), bias = p.db != nullptr;
  WeightGradients result{s, p.dw, p.db};
  if (slices > 1) {
    result.dw = p.workspace;
    if (bias) result.db = p.workspace + slices * s.O * s.filter_size();
  }
  launch_tiled_product(OutputGradients<layout, T, kFused>{s, p.dy, p.y},
                       TransposedWindows<layout, T, kFused>{s, p.x}, result, s.groups, s.group_outputs(),
                       s.filter_size() + bias, s.N * s.OH * s.OW, stream, slices);
  if (slices == 1) return;
  add_slices(result.dw, p.dw, s.groups, slices, s.group_outputs() * s.filter_size(), stream);
  if (bias) add_slices(result.db, p.db, s.groups, slices, s.group_outputs(), stream);
}

}  // namespace

int64_t conv2d_wgrad_workspace(const ConvShape& s) {
  const int64_t slices = slices_of(s);
  return slices == 1 ? 0 : slices * s.O * (s.filter_size() + 1) * int64_t{sizeof(float)};
}

template <typename T>
void conv2d_wgrad(const Conv2dWgrad<T>& p, cudaStream_t stream) {
  const bool fused = p.y != nullptr || p.db != nullptr;
  if (p.layout == ConvLayout::nchw) {
    fused ? run<ConvLayout::nchw, true>(p, stream) : run<ConvLayout::nchw, false>(p, stream);
  } else {
    fused ? run<ConvLayout::nhwc, true>(p, stream) : run<ConvLayout::nhwc, false>(p, stream);
  }
}
template void conv2d_wgrad(const Conv2dWgrad<float>&, cudaStream_t);
template void conv2d_wgrad(const Conv2dWgrad<__half>&, cudaStream_t);
template void conv2d_wgrad(const Conv2dWgrad<__nv_bfloat16>&, cudaStream_t);

}  // namespace lathe::kernels
