// Changes of layout: as transposed matrices where one side is nchw, else as strided copies.
#include <algorithm>
#include <vector>

#include "kernels/transpose/ladder.h"
#include "layers/strided.h"

namespace lathe {
namespace {

std::string only_f32_tensors(const Call& call) {
  return call.inputs[0].dtype == DType::f32 ? "" : "copies f32 only, not " + to_string(call.inputs[0]);
}

// Both tensors as boxes [N, channel block, part of it, channel, H, W], in which each has constant strides;
// the axes in the output's own order, so that the innermost is contiguous there.
kernels::CopyPlan plan_of(const Call& call) {
  const Type &x = call.inputs[0], &y = call.outputs[0];
  const Shape& shape = x.shape;
  auto [small, large] = std::minmax({channel_view(x).block, channel_view(y).block});
  if (large == shape[1]) large = small;
  struct Axis {
    int64_t extent, in, out;
  };
  std::vector<Axis> axes;
  ActivationIndex in(x), out(y);
  auto add = [&](int64_t extent, int64_t n, int64_t c, int64_t s) {
    if (extent != 1) axes.push_back({extent, in(n, c, s), out(n, c, s)});
  };
  add(shape[0], 1, 0, 0);
  add(shape[1] / large, 0, large, 0);
  add(large / small, 0, small, 0);
  add(small, 0, 1, 0);
  add(shape[2], 0, 0, shape[3]);
  add(shape[3], 0, 0, 1);
  std::stable_sort(axes.begin(), axes.end(), [](const Axis& a, const Axis& b) { return a.out > b.out; });
  kernels::CopyPlan plan;
  for (const Axis& axis : axes) {
    plan.extent[plan.rank] = axis.extent, plan.in_stride[plan.rank] = axis.in,
    plan.out_stride[plan.rank] = axis.out;
    ++plan.rank;
  }
  return plan;
}

// A block of channels is a matrix of channels × positions in nchw, of positions × channels in the others.
Prepared transpose(const ChannelView& blocked, bool to_nchw) {
  int64_t rows = blocked.block, columns = blocked.spatial;
  if (to_nchw) std::swap(rows, columns);
  // The vectorised rung has tiles of 64×64: most of its threads would have nothing to do.
  const bool narrow = std::min(rows, columns) < 64;
  const int64_t matrices = blocked.samples * blocked.channel_blocks;
  return kernel_step([=](const Bindings& b, cudaStream_t stream) {
    const kernels::Transposition<float, float> problem{b.in<float>(0), b.out<float>(0), matrices, rows,
                                                       columns};
    narrow ? kernels::transpose_naive(problem, stream) : kernels::transpose_vectorised(problem, stream);
  });
}

Prepared prepare_forward(const Call& call, const Options&) {
  const ChannelView x = channel_view(call.inputs[0]), y = channel_view(call.outputs[0]);
  if (x.block == 1) return transpose(y, false);
  if (y.block == 1) return transpose(x, true);
  return kernel_step([plan = plan_of(call)](const Bindings& b, cudaStream_t stream) {
    kernels::strided_copy(b.in<float>(0), b.out<float>(0), plan, stream);
  });
}
const RegisterImplementation forward("layout_change", {"handwritten", only_f32_tensors, prepare_forward});

}  // namespace
}  // namespace lathe
