// The oracle: bias written plainly.
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step(
      [view = channel_view(call.inputs[0]), at = ActivationIndex(call.inputs[0])](const Bindings& b) {
        for (int64_t n = 0; n < view.samples; ++n) {
          for (int64_t c = 0; c < view.channels(); ++c) {
            for (int64_t s = 0; s < view.spatial; ++s) {
              b.out<float>(0)[at(n, c, s)] = b.in<float>(0)[at(n, c, s)] + b.in<float>(1)[c];
            }
          }
        }
      });
}
const RegisterImplementation forward("bias", {"reference", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return reference_step(
      [view = channel_view(call.inputs[0]), at = ActivationIndex(call.inputs[0])](const Bindings& b) {
        for (int64_t c = 0; c < view.channels(); ++c) {
          double sum = 0;
          for (int64_t n = 0; n < view.samples; ++n) {
            for (int64_t s = 0; s < view.spatial; ++s)
              sum += static_cast<double>(b.in<float>(0)[at(n, c, s)]);
          }
          b.out<float>(0)[c] = static_cast<float>(sum);
        }
      });
}
const RegisterImplementation backward("bias_gradient", {"reference", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
