// The oracle: max pooling written plainly, the gradient as a scatter.
#include <algorithm>
#include <cmath>

#include "layers/step.h"

namespace lathe {
namespace {

// Calls body(n, c, i, j) for every element of an N,C,H,W shape.
template <typename Body>
void for_each(const Shape& shape, Body body) {
  for (int64_t n = 0; n < shape[0]; ++n) {
    for (int64_t c = 0; c < shape[1]; ++c) {
      for (int64_t i = 0; i < shape[2]; ++i) {
        for (int64_t j = 0; j < shape[3]; ++j) body(n, c, i, j);
      }
    }
  }
}

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
    ActivationIndex x_at(call.inputs[0]), y_at(call.outputs[0]);
    const auto &window = call.attributes.integers("window"), &stride = call.attributes.integers("stride"),
               &padding = call.attributes.integers("padding");
    for_each(out, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
      float best = 0;
      int64_t where = -1;
      for (int64_t position = 0; position < window[0] * window[1]; ++position) {
        int64_t h = i * stride[0] - padding[0] + position / window[1];
        int64_t w = j * stride[1] - padding[1] + position % window[1];
        if (h < 0 || h >= in[2] || w < 0 || w >= in[3]) continue;
        float value = b.in<float>(0)[x_at(n, c, h * in[3] + w)];
        if (where < 0 || value > best || (std::isnan(value) && !std::isnan(best)))
          best = value, where = position;
      }
      b.out<float>(0)[y_at(n, c, i * out[3] + j)] = best;
      b.out<uint8_t>(1)[y_at(n, c, i * out[3] + j)] = static_cast<uint8_t>(where);
    });
  });
}
const RegisterImplementation forward("max_pool", {"reference", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    const Shape &in = call.outputs[0].shape, &out = call.inputs[1].shape;
    ActivationIndex dx_at(call.outputs[0]), dy_at(call.inputs[1]);
    const auto &window = call.attributes.integers("window"), &stride = call.attributes.integers("stride"),
               &padding = call.attributes.integers("padding");
    float* dx = b.out<float>(0);
    std::fill_n(dx, in.elements(), 0.0f);
    for_each(out, [&](int64_t n, int64_t c, int64_t i, int64_t j) {
      int64_t from = dy_at(n, c, i * out[3] + j), position = b.in<uint8_t>(0)[from];
      int64_t h = i * stride[0] - padding[0] + position / window[1];
      int64_t w = j * stride[1] - padding[1] + position % window[1];
      if (h >= 0 && h < in[2] && w >= 0 && w < in[3]) dx[dx_at(n, c, h * in[3] + w)] += b.in<float>(1)[from];
    });
  });
}
const RegisterImplementation backward("max_pool_gradient", {"reference", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
