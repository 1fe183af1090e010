// The oracle: dropout written plainly, on the same random numbers.
#include "kernels/random/philox.h"
#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    const Type& x = call.inputs[0];
    double p = call.attributes.real("p");
    auto stream = kernels::random_stream(kernels::RandomUse::dropout, call.attributes.integer("layer"),
                                         *b.in<int64_t>(2));
    for (int64_t linear = 0; linear < x.shape.elements(); ++linear) {
      int64_t at = linear;
      if (x.layout != Layout::nchw) {
        ChannelView view = channel_view(x);
        int64_t plane = linear / view.spatial;
        at = ActivationIndex(x)(plane / view.channels(), plane % view.channels(), linear % view.spatial);
      }
      uint32_t word = kernels::philox(*b.in<int64_t>(1), stream, linear / 4)[static_cast<int>(linear % 4)];
      bool kept = kernels::uniform(word) >= static_cast<float>(p);
      b.out<float>(0)[at] = kept ? b.in<float>(0)[at] * static_cast<float>(1 / (1 - p)) : 0;
    }
  });
}
const RegisterImplementation forward("dropout", {"reference", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
