// Average pooling by oneDNN. Adaptive pooling joins in where its windows are all alike.
#include "layers/onednn.h"
#include "layers/pool.h"

namespace lathe {
namespace {

using dnnl::algorithm;
using dnnl::memory;

struct Plan {
  memory::dims window, stride, padding, padding_end;
  algorithm kind;
};

Plan plan_of(const Attributes& attributes, const Type& large, const Type& small) {
  Plan plan;
  bool adaptive = !attributes.has("window");
  for (int axis = 0; axis < 2; ++axis) {
    int64_t in = large.shape[2 + axis], out = small.shape[2 + axis];
    int64_t window = adaptive ? in / out : attributes.integers("window")[axis];
    int64_t stride = adaptive ? in / out : attributes.integers("stride")[axis];
    int64_t padding = adaptive ? 0 : attributes.integers("padding")[axis];
    plan.window.push_back(window), plan.stride.push_back(stride), plan.padding.push_back(padding);
    plan.padding_end.push_back((out - 1) * stride + window - in - padding);
  }
  bool count_padding = !adaptive && attributes.integer("count_include_pad") != 0;
  plan.kind = count_padding ? algorithm::pooling_avg_include_padding : algorithm::pooling_avg_exclude_padding;
  return plan;
}

std::string refusal(const Call& call, const Type& large, const Type& small) {
  std::string reason = only_f32(call);
  if (!reason.empty()) return reason;
  if (large.shape.elements() == 0) return "oneDNN: nothing to do for " + to_string(large);
  Plan plan = plan_of(call.attributes, large, small);
  for (int axis = 0; axis < 2; ++axis) {
    int64_t in = large.shape[2 + axis], out = small.shape[2 + axis];
    if (!call.attributes.has("window") && in % out != 0) return "oneDNN: adaptive windows of different sizes";
    bool hangs_over = plan.padding_end[axis] > plan.padding[axis];
    if (plan.kind == algorithm::pooling_avg_include_padding && hangs_over) {
      return "oneDNN counts what ceil mode hangs over the padding";
    }
  }
  return "";
}

dnnl::pooling_forward::primitive_desc forward_plan(const Call& call, const Type& large, const Type& small) {
  Plan p = plan_of(call.attributes, large, small);
  dnnl::pooling_forward::desc description(dnnl::prop_kind::forward_training, p.kind,
                                          onednn::descriptor(large), onednn::descriptor(small), p.stride,
                                          p.window, p.padding, p.padding_end);
  return {description, onednn::user_scratchpad(), onednn::engine()};
}

Prepared forward(const Call& call, const Options&) {
  return onednn::guarded(call, [&] {
    auto plan = forward_plan(call, call.inputs[0], call.outputs[0]);
    return onednn::as_step(dnnl::pooling_forward(plan), plan.scratchpad_desc(),
                           {{DNNL_ARG_SRC, plan.src_desc(), plan.src_desc()}},
                           {{DNNL_ARG_DST, plan.dst_desc(), plan.dst_desc()}}, plan.impl_info_str());
  });
}

Prepared backward(const Call& call, const Options&) {
  return onednn::guarded(call, [&] {
    const Type &large = call.outputs[0], &small = call.inputs[0];
    Plan p = plan_of(call.attributes, large, small);
    dnnl::pooling_backward::desc description(p.kind, onednn::descriptor(large), onednn::descriptor(small),
                                             p.stride, p.window, p.padding, p.padding_end);
    dnnl::pooling_backward::primitive_desc plan(description, onednn::user_scratchpad(), onednn::engine(),
                                                forward_plan(call, large, small));
    return onednn::as_step(dnnl::pooling_backward(plan), plan.scratchpad_desc(),
                           {{DNNL_ARG_DIFF_DST, plan.diff_dst_desc(), plan.diff_dst_desc()}},
                           {{DNNL_ARG_DIFF_SRC, plan.diff_src_desc(), plan.diff_src_desc()}},
                           plan.impl_info_str());
  });
}

std::string forward_refusal(const Call& call) { return refusal(call, call.inputs[0], call.outputs[0]); }
std::string backward_refusal(const Call& call) { return refusal(call, call.outputs[0], call.inputs[0]); }

const RegisterImplementation fixed("avg_pool", {"library", forward_refusal, forward});
const RegisterImplementation fixed_gradient("avg_pool_gradient", {"library", backward_refusal, backward});
const RegisterImplementation adaptive("adaptive_avg_pool", {"library", forward_refusal, forward});
const RegisterImplementation adaptive_gradient("adaptive_avg_pool_gradient",
                                               {"library", backward_refusal, backward});

}  // namespace
}  // namespace lathe
