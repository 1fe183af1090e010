// Batch normalisation by oneDNN, but for the batch's statistics: oneDNN 2.6 adds them in fp32, which doubles
// the error of the gradients of VGG16-BN. Here they are added in fp64, in one pass over memory.
#include <algorithm>
#include <unordered_map>

#include "hostcuda/portable/launch.h"
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

// Number of values, their sum and their squared distances from their own mean.
struct Moments {
  double count, sum, squares;
};

constexpr int64_t kWidth =
    16;  // channels, or neighbouring values of one channel, that are added side by side

// body(i, row of up to kWidth values of part, its width) for the rows of one plane: channels `lane` onwards
// at each position, or, where a plane is one channel, its positions kWidth at a time.
template <typename Body>
void for_each_row(const float* plane, const kernels::Activation& shape, int64_t lane, const Body& body) {
  if (shape.planar()) {
    for (int64_t s = 0; s < shape.spatial; s += kWidth) body(plane + s, std::min(kWidth, shape.spatial - s));
  } else {
    int64_t width = std::min(kWidth, shape.block - lane);
    for (int64_t s = 0; s < shape.spatial; ++s) body(plane + s * shape.block + lane, width);
  }
}

// sums[j] += value(row[j], j); the full width is a loop of known length, for the vectoriser.
template <typename Value>
void add_row(const float* row, int64_t width, double* sums, const Value& value) {
  if (width == kWidth)
    for (int64_t j = 0; j < kWidth; ++j) sums[j] += value(row[j], j);
  else
    for (int64_t j = 0; j < width; ++j) sums[j] += value(row[j], j);
}

// The moments of up to kWidth channels in one sample: the second look at them finds them in the cache.
// moments: [samples, channels]
__global__ void sample_moments(const float* x, Moments* moments, kernels::Activation shape) {
  int64_t groups = (shape.block + kWidth - 1) / kWidth;
  int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= shape.planes() * groups) return;
  int64_t lane = index % groups * kWidth, plane_index = index / groups;
  const float* plane = x + plane_index * shape.spatial * shape.block;
  Moments* out = moments + plane_index * shape.block + lane;

  double sums[kWidth] = {}, squares[kWidth] = {}, mean[kWidth];
  for_each_row(plane, shape, lane, [&](const float* row, int64_t width) {
    add_row(row, width, sums, [](float v, int64_t) { return static_cast<double>(v); });
  });
  auto count = static_cast<double>(shape.spatial);
  if (shape.planar()) {
    for (int64_t j = 1; j < kWidth; ++j) sums[0] += sums[j];
    std::fill_n(sums + 1, kWidth - 1, sums[0]);
  }
  for (int64_t j = 0; j < kWidth; ++j) mean[j] = sums[j] / count;
  for_each_row(plane, shape, lane, [&](const float* row, int64_t width) {
    add_row(row, width, squares, [&](float v, int64_t j) {
      double distance = static_cast<double>(v) - mean[j];
      return distance * distance;
    });
  });
  if (shape.planar()) {
    for (int64_t j = 1; j < kWidth; ++j) squares[0] += squares[j];
    *out = {count, sums[0], squares[0]};
  } else {
    for (int64_t j = 0; j < std::min(kWidth, shape.block - lane); ++j) out[j] = {count, sums[j], squares[j]};
  }
}

// A channel's samples put together (Chan, Golub, LeVeque 1983), in a fixed order.
__global__ void batch_statistics(const Moments* moments, float* mean, float* variance, float* running_mean,
                                 float* running_variance, int64_t samples, int64_t channels,
                                 double momentum) {
  int64_t channel = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (channel >= channels) return;
  double count = 0, sum = 0, squares = 0;
  for (int64_t n = 0; n < samples; ++n) {
    count += moments[n * channels + channel].count;
    sum += moments[n * channels + channel].sum;
  }
  double average = sum / count;
  for (int64_t n = 0; n < samples; ++n) {
    const Moments& part = moments[n * channels + channel];
    double shift = part.sum / part.count - average;
    squares += part.squares + part.count * shift * shift;
  }
  auto move = [&](float& running, double batch) {
    running = static_cast<float>((1 - momentum) * static_cast<double>(running) + momentum * batch);
  };
  mean[channel] = static_cast<float>(average);
  variance[channel] = static_cast<float>(squares / count);
  move(running_mean[channel], average);
  move(running_variance[channel], squares / (count - 1));
}

// A primitive whose operands lie elsewhere than at the node's inputs and outputs in order.
Enqueue execute(const dnnl::primitive& primitive, std::unordered_map<int, dnnl::memory> arguments) {
  return host_step(
      [primitive, arguments = std::move(arguments), stream = dnnl::stream(onednn::engine())]() mutable {
        primitive.execute(stream, arguments);
        stream.wait();
      });
}
dnnl::memory input(const Bindings& b, size_t i, const dnnl::memory::desc& descriptor) {
  return dnnl::memory(descriptor, onednn::engine(), const_cast<void*>(b.inputs.at(i)));  // only read
}
dnnl::memory output(const Bindings& b, size_t i, const dnnl::memory::desc& descriptor) {
  return dnnl::memory(descriptor, onednn::engine(), b.outputs.at(i));
}

Prepared prepare_training(const Call& call, const Options&) {
  return onednn::guarded(call, [&]() -> Prepared {
    auto plan = forward_plan(call, dnnl::prop_kind::forward_inference,
                             kScaleShift | normalization_flags::use_global_stats);
    auto tensor = onednn::descriptor(call.inputs[0]), channel = onednn::descriptor(call.inputs[1]);
    kernels::Activation shape = activation(call.inputs[0]);
    auto bind = [=, momentum = call.attributes.real("momentum"),
                 primitive = dnnl::batch_normalization_forward(plan)](const Bindings& b) -> Enqueue {
      Enqueue normalise = execute(primitive, {{DNNL_ARG_SRC, input(b, 0, tensor)},
                                              {DNNL_ARG_SCALE, input(b, 1, channel)},
                                              {DNNL_ARG_SHIFT, input(b, 2, channel)},
                                              {DNNL_ARG_DST, output(b, 0, tensor)},
                                              {DNNL_ARG_MEAN, output(b, 1, channel)},
                                              {DNNL_ARG_VARIANCE, output(b, 2, channel)}});
      return [=](cudaStream_t stream) {
        constexpr int kThreads = 4;
        auto* moments = static_cast<Moments*>(b.workspace);
        int64_t parts = shape.planes() * ((shape.block + kWidth - 1) / kWidth);
        launch<sample_moments>(blocks_for(parts, kThreads), kThreads, 0, stream, b.in<float>(0), moments,
                               shape);
        launch<batch_statistics>(blocks_for(shape.channels(), kThreads), kThreads, 0, stream, moments,
                                 b.out<float>(1), b.out<float>(2), b.out<float>(3), b.out<float>(4),
                                 shape.samples, shape.channels(), momentum);
        normalise(stream);
      };
    };
    int64_t workspace = shape.samples * shape.channels() * static_cast<int64_t>(sizeof(Moments));
    return {bind, workspace, plan.impl_info_str() + std::string(", statistics in fp64")};
  });
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
                 primitive = dnnl::batch_normalization_backward(plan)](const Bindings& b) -> Enqueue {
      std::unordered_map<int, dnnl::memory> arguments = {
          {DNNL_ARG_SRC, input(b, 0, tensor)},         {DNNL_ARG_DIFF_DST, input(b, 1, tensor)},
          {DNNL_ARG_SCALE, input(b, 2, channel)},      {DNNL_ARG_SHIFT, input(b, 2, channel)},
          {DNNL_ARG_MEAN, input(b, 3, channel)},       {DNNL_ARG_VARIANCE, input(b, 4, channel)},
          {DNNL_ARG_DIFF_SRC, output(b, 0, tensor)},   {DNNL_ARG_DIFF_SCALE, output(b, 1, channel)},
          {DNNL_ARG_DIFF_SHIFT, output(b, 2, channel)}};
      if (plan.scratchpad_desc().get_size() > 0)
        arguments[DNNL_ARG_SCRATCHPAD] = dnnl::memory(plan.scratchpad_desc(), onednn::engine(), b.workspace);
      return execute(primitive, std::move(arguments));
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
