// The oracle: batch normalisation in double precision, channel by channel.
#include <cmath>

#include "layers/step.h"

namespace lathe {
namespace {

// Calls body(offset) for every element of channel c.
template <typename Body>
void for_channel(const Type& type, int64_t c, Body body) {
  ChannelView view = channel_view(type);
  ActivationIndex at(type);
  for (int64_t n = 0; n < view.samples; ++n) {
    for (int64_t s = 0; s < view.spatial; ++s) body(at(n, c, s));
  }
}

void normalise(const Call& call, const Bindings& b, int64_t c, double mean, double variance) {
  double factor =
      static_cast<double>(b.in<float>(1)[c]) / std::sqrt(variance + call.attributes.real("epsilon"));
  for_channel(call.inputs[0], c, [&](int64_t i) {
    double y =
        (static_cast<double>(b.in<float>(0)[i]) - mean) * factor + static_cast<double>(b.in<float>(2)[c]);
    b.out<float>(0)[i] = static_cast<float>(y);
  });
}

Prepared prepare_training(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    const Shape& shape = call.inputs[0].shape;
    double momentum = call.attributes.real("momentum");
    double count = static_cast<double>(shape.elements() / shape[1]);
    for (int64_t c = 0; c < shape[1]; ++c) {
      double mean = 0, squares = 0;
      for_channel(call.inputs[0], c,
                  [&](int64_t i) { mean += static_cast<double>(b.in<float>(0)[i]) / count; });
      for_channel(call.inputs[0], c, [&](int64_t i) {
        double distance = static_cast<double>(b.in<float>(0)[i]) - mean;
        squares += distance * distance;
      });
      b.out<float>(1)[c] = static_cast<float>(mean);
      b.out<float>(2)[c] = static_cast<float>(squares / count);
      auto move = [&](float& running, double batch) {
        running = static_cast<float>((1 - momentum) * static_cast<double>(running) + momentum * batch);
      };
      move(b.out<float>(3)[c], mean);
      move(b.out<float>(4)[c], squares / (count - 1));
      normalise(call, b, c, mean, squares / count);
    }
  });
}
const RegisterImplementation training("batch_norm", {"reference", only_f32, prepare_training});

Prepared prepare_backward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    const Shape& shape = call.inputs[0].shape;
    double count = static_cast<double>(shape.elements() / shape[1]);
    for (int64_t c = 0; c < shape[1]; ++c) {
      double mean = static_cast<double>(b.in<float>(3)[c]);
      double deviation =
          1 / std::sqrt(static_cast<double>(b.in<float>(4)[c]) + call.attributes.real("epsilon"));
      double dgamma = 0, dbeta = 0;
      for_channel(call.inputs[0], c, [&](int64_t i) {
        double dy = static_cast<double>(b.in<float>(1)[i]);
        dbeta += dy;
        dgamma += dy * (static_cast<double>(b.in<float>(0)[i]) - mean) * deviation;
      });
      b.out<float>(1)[c] = static_cast<float>(dgamma);
      b.out<float>(2)[c] = static_cast<float>(dbeta);
      for_channel(call.inputs[0], c, [&](int64_t i) {
        double normalised = (static_cast<double>(b.in<float>(0)[i]) - mean) * deviation;
        double centred = static_cast<double>(b.in<float>(1)[i]) - dbeta / count - normalised * dgamma / count;
        b.out<float>(0)[i] = static_cast<float>(static_cast<double>(b.in<float>(2)[c]) * deviation * centred);
      });
    }
  });
}
const RegisterImplementation backward("batch_norm_gradient", {"reference", only_f32, prepare_backward});

Prepared prepare_inference(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    for (int64_t c = 0; c < call.inputs[0].shape[1]; ++c) {
      normalise(call, b, c, static_cast<double>(b.in<float>(3)[c]), static_cast<double>(b.in<float>(4)[c]));
    }
  });
}
const RegisterImplementation inference("batch_norm_inference", {"reference", only_f32, prepare_inference});

}  // namespace
}  // namespace lathe
