// Batch normalisation by oneDNN. Its statistics are the batch's mean and biased variance; the running
// statistics are moved here, in the same step.
#include <unordered_map>

#include "layers/onednn.h"
#include "layers/step.h"

namespace lathe {
namespace {

using dnnl::normalization_flags;

std::string supports(const Call& call) {
  std::string reason = only_f32(call);
  if (reason.empty() && call.inputs[0].shape.elements() == 0)
    reason = "oneDNN: nothing to do for an empty tensor";
  if (reason.empty() && call.inputs[0].shape.rank() > 5) reason = "oneDNN normalises up to rank 5";
  return reason;
}

const auto kScaleShift = normalization_flags::use_scale | normalization_flags::use_shift;

dnnl::batch_normalization_forward::primitive_desc forward_plan(const Call& call, dnnl::prop_kind kind,
                                                               normalization_flags flags) {
  dnnl::batch_normalization_forward::desc description(
      kind, onednn::descriptor(call.inputs[0]), static_cast<float>(call.attributes.real("epsilon")), flags);
  return {description, onednn::user_scratchpad(), onednn::engine()};
}

// Operands in the tensors' own formats: x, y and their gradients, and the numbers of each channel.
onednn::Operand data(int argument, const Call& call) {
  auto descriptor = onednn::descriptor(call.inputs[0]);
  return {argument, descriptor, descriptor};
}
onednn::Operand channels(int argument, const Call& call) {
  auto descriptor = onednn::descriptor({DType::f32, {call.inputs[0].shape[1]}, Layout::nchw});
  return {argument, descriptor, descriptor};
}

Prepared prepare_training(const Call& call, const Options&) {
  Prepared prepared = onednn::guarded(call, [&] {
    auto plan = forward_plan(call, dnnl::prop_kind::forward_training, kScaleShift);
    return onednn::as_step(
        dnnl::batch_normalization_forward(plan), plan.scratchpad_desc(),
        {data(DNNL_ARG_SRC, call), channels(DNNL_ARG_SCALE, call), channels(DNNL_ARG_SHIFT, call)},
        {data(DNNL_ARG_DST, call), channels(DNNL_ARG_MEAN, call), channels(DNNL_ARG_VARIANCE, call)},
        plan.impl_info_str());
  });
  const Shape& shape = call.inputs[0].shape;
  double momentum = call.attributes.real("momentum"),
         count = static_cast<double>(shape.elements() / shape[1]);
  auto bind = prepared.bind;
  prepared.bind = [bind, momentum, count, channels = shape[1]](const Bindings& b) -> Enqueue {
    Enqueue normalise = bind(b);
    Enqueue move = host_step([b, momentum, count, channels] {
      auto moved = [&](float running, double batch) {
        return static_cast<float>((1 - momentum) * static_cast<double>(running) + momentum * batch);
      };
      for (int64_t c = 0; c < channels; ++c) {
        double variance = static_cast<double>(b.out<float>(2)[c]) * count / (count - 1);
        b.out<float>(3)[c] = moved(b.out<float>(3)[c], static_cast<double>(b.out<float>(1)[c]));
        b.out<float>(4)[c] = moved(b.out<float>(4)[c], variance);
      }
    });
    return [normalise, move](cudaStream_t stream) { normalise(stream), move(stream); };
  };
  return prepared;
}
const RegisterImplementation training("batch_norm", {"library", supports, prepare_training});

// The primitive asks for a shift too, though no gradient depends on it: as_step's operands are the node's, so
// this one is bound here, with gamma in the shift's place.
Prepared prepare_backward(const Call& call, const Options&) {
  return onednn::guarded(call, [&]() -> Prepared {
    auto tensor = onednn::descriptor(call.inputs[0]), channel = onednn::descriptor(call.inputs[2]);
    auto forward = forward_plan(call, dnnl::prop_kind::forward_training, kScaleShift);
    dnnl::batch_normalization_backward::desc description(dnnl::prop_kind::backward, tensor, tensor,
                                                         static_cast<float>(call.attributes.real("epsilon")),
                                                         kScaleShift);
    dnnl::batch_normalization_backward::primitive_desc plan(description, onednn::user_scratchpad(),
                                                            onednn::engine(), forward);
    auto bind = [plan, tensor, channel,
                 primitive = dnnl::batch_normalization_backward(plan)](const Bindings& b) {
      auto in = [&](int i, const dnnl::memory::desc& descriptor) {
        return dnnl::memory(descriptor, onednn::engine(), const_cast<void*>(b.inputs.at(i)));  // only read
      };
      auto out = [&](int i, const dnnl::memory::desc& descriptor) {
        return dnnl::memory(descriptor, onednn::engine(), b.outputs.at(i));
      };
      std::unordered_map<int, dnnl::memory> arguments = {
          {DNNL_ARG_SRC, in(0, tensor)},         {DNNL_ARG_DIFF_DST, in(1, tensor)},
          {DNNL_ARG_SCALE, in(2, channel)},      {DNNL_ARG_SHIFT, in(2, channel)},
          {DNNL_ARG_MEAN, in(3, channel)},       {DNNL_ARG_VARIANCE, in(4, channel)},
          {DNNL_ARG_DIFF_SRC, out(0, tensor)},   {DNNL_ARG_DIFF_SCALE, out(1, channel)},
          {DNNL_ARG_DIFF_SHIFT, out(2, channel)}};
      if (plan.scratchpad_desc().get_size() > 0) {
        arguments[DNNL_ARG_SCRATCHPAD] = dnnl::memory(plan.scratchpad_desc(), onednn::engine(), b.workspace);
      }
      return host_step([primitive, arguments, stream = dnnl::stream(onednn::engine())]() mutable {
        primitive.execute(stream, arguments);
        stream.wait();
      });
    };
    return {bind, static_cast<int64_t>(plan.scratchpad_desc().get_size()), plan.impl_info_str()};
  });
}
const RegisterImplementation backward("batch_norm_gradient", {"library", supports, prepare_backward});

Prepared prepare_inference(const Call& call, const Options&) {
  return onednn::guarded(call, [&] {
    auto plan = forward_plan(call, dnnl::prop_kind::forward_inference,
                             kScaleShift | normalization_flags::use_global_stats);
    return onednn::as_step(
        dnnl::batch_normalization_forward(plan), plan.scratchpad_desc(),
        {data(DNNL_ARG_SRC, call), channels(DNNL_ARG_SCALE, call), channels(DNNL_ARG_SHIFT, call),
         channels(DNNL_ARG_MEAN, call), channels(DNNL_ARG_VARIANCE, call)},
        {data(DNNL_ARG_DST, call)}, plan.impl_info_str());
  });
}
const RegisterImplementation inference("batch_norm_inference", {"library", supports, prepare_inference});

}  // namespace
}  // namespace lathe
