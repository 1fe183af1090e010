// Convolutions by oneDNN. Weights are reordered inside the step into the format the primitive prefers.
// Activations are used in the layout they have, unless oneDNN has only its GEMM or reference code for it
// (plain nchw, odd mixtures): then they are reordered too. Measured on VGG16's 13 layers at 32×32, N = 128:
// nchw 1.4 + 1.5 + 4.4 s as it is, 0.9 + 0.9 + 1.1 s with the reorders, 0.7 + 0.7 + 1.0 s in nchw16c.
#include "layers/conv2d/conv2d.h"

#include <algorithm>
#include <optional>

#include "layers/onednn.h"

namespace lathe {
namespace {

using dnnl::memory;

// A primitive for one direction and the formats it wants.
struct Plan {
  dnnl::primitive primitive;
  memory::desc x, w, y, scratchpad;
  std::string implementation;
};

memory::desc weights_descriptor(const ConvShape& s) {
  constexpr auto kFloat = memory::data_type::f32;
  using Tag = memory::format_tag;
  if (s.groups == 1) return {{s.O, s.C, s.kernel_h, s.kernel_w}, kFloat, Tag::oihw};
  return {{s.groups, s.group_outputs(), s.group_inputs(), s.kernel_h, s.kernel_w}, kFloat, Tag::goihw};
}

// Throws dnnl::error where oneDNN has nothing for this algorithm and these formats.
Plan make_plan(ConvDirection direction, dnnl::algorithm algorithm, const ConvShape& s, const memory::desc& x,
               const memory::desc& y) {
  memory::dims strides{s.stride_h, s.stride_w}, padding{s.padding_h, s.padding_w};
  memory::dims dilates{s.dilation_h - 1, s.dilation_w - 1};  // oneDNN counts the gap
  memory::desc w = onednn::any_format(weights_descriptor(s));
  dnnl::primitive_attr attributes = onednn::user_scratchpad();
  dnnl::convolution_forward::primitive_desc forward(
      {dnnl::prop_kind::forward_training, algorithm, x, w, y, strides, dilates, padding, padding}, attributes,
      onednn::engine());
  switch (direction) {
    case ConvDirection::fprop:
      return {dnnl::convolution_forward(forward),
              forward.src_desc(),
              forward.weights_desc(),
              forward.dst_desc(),
              forward.scratchpad_desc(),
              forward.impl_info_str()};
    case ConvDirection::dgrad: {
      dnnl::convolution_backward_data::primitive_desc backward(
          {algorithm, x, w, y, strides, dilates, padding, padding}, attributes, onednn::engine(), forward);
      return {dnnl::convolution_backward_data(backward),
              backward.diff_src_desc(),
              backward.weights_desc(),
              backward.diff_dst_desc(),
              backward.scratchpad_desc(),
              backward.impl_info_str()};
    }
    case ConvDirection::wgrad: {
      dnnl::convolution_backward_weights::primitive_desc backward(
          {algorithm, x, w, y, strides, dilates, padding, padding}, attributes, onednn::engine(), forward);
      return {dnnl::convolution_backward_weights(backward),
              backward.src_desc(),
              backward.diff_weights_desc(),
              backward.diff_dst_desc(),
              backward.scratchpad_desc(),
              backward.impl_info_str()};
    }
  }
  throw std::logic_error("make_plan: unknown direction");
}

// 0: code generated for the case; 1: im2col and a GEMM; 2: plain loops, a hundred times slower.
int slowness(const Plan& plan) {
  auto contains = [&](const char* part) { return plan.implementation.find(part) != std::string::npos; };
  if (contains("ref")) return 2;
  return contains("gemm") && !contains("brg") ? 1 : 0;
}

// The first plan of code generated for the case, Winograd before direct and the formats as they are before
// those the primitive prefers; else the least slow.
Plan choose_plan(ConvDirection direction, const ConvShape& shape, bool winograd, const memory::desc& x,
                 const memory::desc& y) {
  std::vector<dnnl::algorithm> algorithms{dnnl::algorithm::convolution_direct};
  if (winograd && winograd_wins(shape))
    algorithms.insert(algorithms.begin(), dnnl::algorithm::convolution_winograd);
  std::optional<Plan> best;
  for (dnnl::algorithm algorithm : algorithms)
    for (bool as_given : {true, false}) {
      try {
        Plan plan = make_plan(direction, algorithm, shape, as_given ? x : onednn::any_format(x),
                              as_given ? y : onednn::any_format(y));
        if (!best || slowness(plan) < slowness(*best)) best = std::move(plan);
        if (slowness(*best) == 0) return *best;
      } catch (const dnnl::error&) {  // nothing for this combination; direct as_given always has its loops
        if (algorithm == dnnl::algorithm::convolution_direct && as_given) throw;
      }
    }
  return *best;
}

template <ConvDirection direction>
Prepared prepare(const Call& call, const Options& options) {
  return onednn::guarded(call, [&] {
    ConvShape shape = conv_shape(direction, call);
    ConvOperands types = conv_operands(direction, call);
    memory::desc x = onednn::descriptor(types.x), w = weights_descriptor(shape),
                 y = onednn::descriptor(types.y);
    Plan plan = choose_plan(direction, shape, options.winograd, x, y);

    bool activations = plan.x != x || plan.y != y;
    std::string detail = plan.implementation + (activations ? ", activations reordered" : "");
    auto step = [&](std::vector<onednn::Operand> inputs, onednn::Operand output) {
      return onednn::as_step(plan.primitive, plan.scratchpad, inputs, {output}, detail);
    };
    switch (direction) {
      case ConvDirection::fprop:
        return step({{DNNL_ARG_SRC, x, plan.x}, {DNNL_ARG_WEIGHTS, w, plan.w}}, {DNNL_ARG_DST, y, plan.y});
      case ConvDirection::dgrad:
        return step({{DNNL_ARG_DIFF_DST, y, plan.y}, {DNNL_ARG_WEIGHTS, w, plan.w}},
                    {DNNL_ARG_DIFF_SRC, x, plan.x});
      case ConvDirection::wgrad:
        return step({{DNNL_ARG_SRC, x, plan.x}, {DNNL_ARG_DIFF_DST, y, plan.y}},
                    {DNNL_ARG_DIFF_WEIGHTS, w, plan.w});
    }
    throw std::logic_error("conv2d: unknown direction");
  });
}

const RegisterImplementation fprop("conv2d", {"library", only_f32, prepare<ConvDirection::fprop>});
const RegisterImplementation dgrad("conv2d_dgrad", {"library", only_f32, prepare<ConvDirection::dgrad>});
const RegisterImplementation wgrad("conv2d_wgrad", {"library", only_f32, prepare<ConvDirection::wgrad>});

}  // namespace
}  // namespace lathe
