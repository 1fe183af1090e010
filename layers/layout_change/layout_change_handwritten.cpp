// Changes of layout as strided copies.
#include <algorithm>
#include <vector>

#include "layers/strided.h"

namespace lathe {
namespace {

std::string only_f32_tensors(const Call& call) {
  return call.inputs[0].dtype == DType::f32 ? "" : "copies f32 only, not " + to_string(call.inputs[0]);
}

// Channels per block where the layout has real blocks, otherwise all: nchw and nhwc step evenly through them.
int64_t even_run(const Type& type) {
  bool blocked = type.layout == Layout::nchw8c || type.layout == Layout::nchw16c;
  return blocked ? channel_view(type).block : type.shape[1];
}

// Both tensors as boxes [N, channel block, part of it, channel, H, W], in which each has constant strides;
// the axes in the output's own order, so that the innermost is contiguous there.
kernels::CopyPlan plan_of(const Call& call) {
  const Type &x = call.inputs[0], &y = call.outputs[0];
  const Shape& shape = x.shape;
  int64_t large = std::max(even_run(x), even_run(y)), small = std::min(even_run(x), even_run(y));
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

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([plan = plan_of(call)](const Bindings& b, cudaStream_t stream) {
    kernels::strided_copy(b.in<float>(0), b.out<float>(0), plan, stream);
  });
}
const RegisterImplementation forward("layout_change", {"handwritten", only_f32_tensors, prepare_forward});

}  // namespace
}  // namespace lathe
