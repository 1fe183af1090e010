// The oracle of average pooling, fixed and adaptive: window by window, the gradient as a scatter.
#include <algorithm>
#include <vector>

#include "layers/step.h"

namespace lathe {
namespace {

struct Window {
  int64_t begin, end;  // inside the input
  int64_t length;      // what this axis contributes to the divisor
};

// The window of output o along one axis (0: height, 1: width).
Window window_of(const Attributes& a, int axis, int64_t o, int64_t in, int64_t out) {
  if (!a.has("window")) {  // adaptive, PyTorch's rule
    int64_t begin = o * in / out, end = ((o + 1) * in + out - 1) / out;
    return {begin, end, end - begin};
  }
  int64_t padding = a.integers("padding")[axis], begin = o * a.integers("stride")[axis] - padding;
  int64_t end = std::min(begin + a.integers("window")[axis], in + padding);
  int64_t inside_begin = std::max<int64_t>(begin, 0), inside_end = std::min(end, in);
  bool count_padding = a.integer("count_include_pad") != 0;
  return {inside_begin, inside_end, count_padding ? end - begin : inside_end - inside_begin};
}

// body(index of the output, divisor, index of an input in its window)
template <typename Body>
void for_each(const Attributes& attributes, const Type& large, const Type& small, Body body) {
  ActivationIndex large_at(large), small_at(small);
  const Shape &in = large.shape, &out = small.shape;
  for (int64_t plane = 0; plane < out[0] * out[1]; ++plane) {
    int64_t n = plane / out[1], c = plane % out[1];
    for (int64_t i = 0; i < out[2]; ++i) {
      for (int64_t j = 0; j < out[3]; ++j) {
        Window rows = window_of(attributes, 0, i, in[2], out[2]),
               columns = window_of(attributes, 1, j, in[3], out[3]);
        for (int64_t h = rows.begin; h < rows.end; ++h) {
          for (int64_t w = columns.begin; w < columns.end; ++w) {
            body(small_at(n, c, i * out[3] + j), static_cast<double>(rows.length * columns.length),
                 large_at(n, c, h * in[3] + w));
          }
        }
      }
    }
  }
}

Prepared forward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    std::vector<double> mean(call.outputs[0].shape.elements(), 0.0);
    for_each(call.attributes, call.inputs[0], call.outputs[0],
             [&](int64_t output, double divisor, int64_t input) {
               mean[output] += static_cast<double>(b.in<float>(0)[input]) / divisor;
             });
    std::transform(mean.begin(), mean.end(), b.out<float>(0), [](double m) { return static_cast<float>(m); });
  });
}

Prepared backward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    std::vector<double> dx(call.outputs[0].shape.elements(), 0.0);
    for_each(call.attributes, call.outputs[0], call.inputs[0],
             [&](int64_t output, double divisor, int64_t input) {
               dx[input] += static_cast<double>(b.in<float>(0)[output]) / divisor;
             });
    std::transform(dx.begin(), dx.end(), b.out<float>(0), [](double d) { return static_cast<float>(d); });
  });
}

const RegisterImplementation fixed("avg_pool", {"reference", only_f32, forward});
const RegisterImplementation fixed_gradient("avg_pool_gradient", {"reference", only_f32, backward});
const RegisterImplementation adaptive("adaptive_avg_pool", {"reference", only_f32, forward});
const RegisterImplementation adaptive_gradient("adaptive_avg_pool_gradient",
                                               {"reference", only_f32, backward});

}  // namespace
}  // namespace lathe
