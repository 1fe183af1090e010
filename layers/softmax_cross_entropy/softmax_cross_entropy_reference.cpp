// The oracle: cross-entropy in double precision, from its definition.
#include <Eigen/Core>
#include <cmath>
#include <limits>

#include "layers/step.h"

namespace lathe {
namespace {

// −log p of one row of logits; empty where a logit is not finite or the label is no class.
Eigen::ArrayXd minus_log_p(const Call& call, const Bindings& b, int64_t n) {
  int64_t classes = call.inputs[0].shape[1], label = b.in<int32_t>(1)[n];
  Eigen::ArrayXd x = Eigen::Map<const Eigen::ArrayXf>(b.in<float>(0) + n * classes, classes).cast<double>();
  if (!x.isFinite().all() || label < 0 || label >= classes) return {};
  double maximum = x.maxCoeff();
  return maximum - x + std::log((x - maximum).exp().sum());
}

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    double smoothing = call.attributes.real("smoothing");
    for (int64_t n = 0; n < call.inputs[0].shape[0]; ++n) {
      Eigen::ArrayXd loss = minus_log_p(call, b, n);
      b.out<float>(0)[n] =
          loss.size() == 0
              ? std::numeric_limits<float>::quiet_NaN()
              : static_cast<float>((1 - smoothing) * loss[b.in<int32_t>(1)[n]] + smoothing * loss.mean());
    }
  });
}
const RegisterImplementation forward("softmax_cross_entropy", {"reference", only_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    int64_t classes = call.inputs[0].shape[1];
    double smoothing = call.attributes.real("smoothing");
    for (int64_t n = 0; n < call.inputs[0].shape[0]; ++n) {
      Eigen::Map<Eigen::ArrayXf> dlogits(b.out<float>(0) + n * classes, classes);
      Eigen::ArrayXd loss = minus_log_p(call, b, n);
      if (loss.size() == 0) {
        dlogits.setConstant(std::numeric_limits<float>::quiet_NaN());
        continue;
      }
      Eigen::ArrayXd target = Eigen::ArrayXd::Constant(classes, smoothing / static_cast<double>(classes));
      target[b.in<int32_t>(1)[n]] += 1 - smoothing;
      dlogits = (static_cast<double>(b.in<float>(2)[n]) * ((-loss).exp() - target)).cast<float>();
    }
  });
}
const RegisterImplementation backward("softmax_cross_entropy_gradient",
                                      {"reference", only_f32, prepare_backward});

}  // namespace
}  // namespace lathe
