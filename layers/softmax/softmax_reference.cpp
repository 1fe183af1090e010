// The oracle: softmax in double precision.
#include <Eigen/Core>

#include "layers/step.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([shape = call.inputs[0].shape](const Bindings& b) {
    for (int64_t n = 0; n < shape[0]; ++n) {
      Eigen::ArrayXd x =
          Eigen::Map<const Eigen::ArrayXf>(b.in<float>(0) + n * shape[1], shape[1]).cast<double>();
      Eigen::ArrayXd e = (x - x.maxCoeff<Eigen::PropagateNaN>()).exp();
      Eigen::Map<Eigen::ArrayXf>(b.out<float>(0) + n * shape[1], shape[1]) = (e / e.sum()).cast<float>();
    }
  });
}
const RegisterImplementation forward("softmax", {"reference", only_f32, prepare_forward});

}  // namespace
}  // namespace lathe
