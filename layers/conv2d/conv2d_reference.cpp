// The oracle: one loop nest visits every multiply-add of a convolution; the three directions differ only in
// which of the three operands is the sum.
#include <vector>

#include "engine/runtime/host_step.h"
#include "layers/conv2d/conv2d.h"

namespace lathe {
namespace {

// Where element (n, c, s) of an activation lies; s = row·width + column.
struct Place {
  ChannelView view;
  int64_t operator()(int64_t n, int64_t c, int64_t s) const {
    return ((n * view.channel_blocks + c / view.block) * view.spatial + s) * view.block + c % view.block;
  }
};

// Calls use(output position, input position) along one axis for every output; its input is
// p·stride + first, and those in the padding are skipped.
template <typename Use>
void for_each_pair(int64_t outputs, int64_t inputs, int64_t stride, int64_t first, const Use& use) {
  for (int64_t p = 0; p < outputs; ++p) {
    int64_t h = p * stride + first;
    if (h >= 0 && h < inputs) use(p, h);
  }
}

// Calls multiply_add(position in x, in w, in y) for every product of the convolution.
template <typename MultiplyAdd>
void for_each_product(const ConvShape& s, const Place& x_at, const Place& y_at,
                      const MultiplyAdd& multiply_add) {
  int64_t w_at = 0;
  for (int64_t o = 0; o < s.O; ++o) {
    for (int64_t c = o / s.group_outputs() * s.group_inputs(), end = c + s.group_inputs(); c < end; ++c) {
      for (int64_t i = 0; i < s.kernel_h; ++i) {
        for (int64_t j = 0; j < s.kernel_w; ++j, ++w_at) {
          for (int64_t n = 0; n < s.N; ++n) {
            for_each_pair(s.OH, s.H, s.stride_h, i * s.dilation_h - s.padding_h, [&](int64_t p, int64_t h) {
              for_each_pair(s.OW, s.W, s.stride_w, j * s.dilation_w - s.padding_w, [&](int64_t q, int64_t w) {
                multiply_add(x_at(n, c, h * s.W + w), w_at, y_at(n, o, p * s.OW + q));
              });
            });
          }
        }
      }
    }
  }
}

template <ConvDirection direction>
Prepared prepare(const Call& call, const Options&) {
  ConvShape shape = conv_shape(direction, call);
  ConvOperands types = conv_operands(direction, call);
  int64_t results = call.outputs[0].shape.elements();
  Place x_at{channel_view(types.x)}, y_at{channel_view(types.y)};
  return {[=](const Bindings& b) {
    return host_step([=, first = b.in<float>(0), second = b.in<float>(1), result = b.out<float>(0)] {
      std::vector<double> sum(results);
      for_each_product(shape, x_at, y_at, [&](int64_t x, int64_t w, int64_t y) {
        if constexpr (direction == ConvDirection::fprop) sum[y] += double{first[x]} * second[w];
        if constexpr (direction == ConvDirection::dgrad) sum[x] += double{first[y]} * second[w];
        if constexpr (direction == ConvDirection::wgrad) sum[w] += double{first[x]} * second[y];
      });
      for (int64_t i = 0; i < results; ++i) result[i] = static_cast<float>(sum[i]);
    });
  }};
}

const RegisterImplementation fprop("conv2d", {"reference", only_f32, prepare<ConvDirection::fprop>});
const RegisterImplementation dgrad("conv2d_dgrad", {"reference", only_f32, prepare<ConvDirection::dgrad>});
const RegisterImplementation wgrad("conv2d_wgrad", {"reference", only_f32, prepare<ConvDirection::wgrad>});

}  // namespace
}  // namespace lathe
