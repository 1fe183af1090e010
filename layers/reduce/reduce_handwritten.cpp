// Sums and means through our own kernel.
#include "kernels/reduce/ladder.h"
#include "kernels/reduce/reduce.h"
#include "layers/reduce/reduce_axes.h"
#include "layers/strided.h"

namespace lathe {
namespace {

std::string supports(const Call& call) {
  if (call.inputs[0].shape.rank() > kernels::ReducePlan::kMaxRank) return "reduces up to rank 6";
  return copies_f32(call);
}

kernels::ReducePlan plan_of(const Call& call) {
  const Shape& shape = call.inputs[0].shape;
  std::vector<int64_t> strides = strides_of(shape);
  kernels::ReducePlan plan;
  for (int64_t axis = 0; axis < shape.rank(); ++axis) {
    bool reduced = has_axis(call.attributes.integers("axes"), axis);
    int& rank = reduced ? plan.reduced_rank : plan.kept_rank;
    (reduced ? plan.reduced_extent : plan.kept_extent)[rank] = shape[axis];
    (reduced ? plan.reduced_stride : plan.kept_stride)[rank] = strides[axis];
    (reduced ? plan.reduced : plan.kept) *= shape[axis];
    ++rank;
  }
  return plan;
}

Prepared reduction(const kernels::ReducePlan& plan, double factor) {
  return kernel_step([plan, factor](const Bindings& b, cudaStream_t stream) {
    kernels::reduce_sum(b.in<float>(0), b.out<float>(0), plan, factor, stream);
  });
}

// One number of everything is the ladder's; several numbers, each along some axes, are reduce_sum's.
Prepared prepare_sum(const Call& call, const Options&) {
  const kernels::ReducePlan plan = plan_of(call);
  if (plan.kept != 1) return reduction(plan, 1);
  return kernel_step(
      [n = plan.reduced](const Bindings& b, cudaStream_t stream) {
        kernels::reduce_vectorised(
            {b.in<float>(0), n, kernels::ReduceKind::sum, b.out<float>(0), b.workspace}, stream);
      },
      kernels::reduce_workspace(plan.reduced));
}
const RegisterImplementation sum("reduce_sum", {"handwritten", supports, prepare_sum});

Prepared prepare_mean(const Call& call, const Options&) {
  kernels::ReducePlan plan = plan_of(call);
  return reduction(plan, 1 / static_cast<double>(plan.reduced));
}
const RegisterImplementation mean("reduce_mean", {"handwritten", supports, prepare_mean});

}  // namespace
}  // namespace lathe
