// The oracle: matrix products in double by Eigen.
#include <Eigen/Core>

#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

using Matrix = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;

// A row-major operand of this shape.
Eigen::MatrixXd matrix(const float* data, const Shape& shape) {
  return Eigen::Map<const Matrix>(data, shape[0], shape[1]).cast<double>();
}

// product(first input, second input) as doubles → the output.
template <typename Product>
auto prepare(Product product) {
  return [product](const Call& call, const Options&) {
    Shape a = call.inputs[0].shape, b = call.inputs[1].shape, c = call.outputs[0].shape;
    return Prepared{[=](const Bindings& bindings) {
      return host_step(
          [=, in0 = bindings.in<float>(0), in1 = bindings.in<float>(1), out = bindings.out<float>(0)] {
            Eigen::MatrixXd result = product(matrix(in0, a), matrix(in1, b));
            Eigen::Map<Matrix>(out, c[0], c[1]) = result.cast<float>();
          });
    }};
  };
}

using M = const Eigen::MatrixXd&;
const RegisterImplementation fprop("linear", {"reference", only_f32, prepare([](M x, M w) -> Eigen::MatrixXd {
                                                return x * w.transpose();
                                              })});
const RegisterImplementation dgrad("linear_dgrad",
                                   {"reference", only_f32,
                                    prepare([](M dy, M w) -> Eigen::MatrixXd { return dy * w; })});
const RegisterImplementation wgrad("linear_wgrad",
                                   {"reference", only_f32, prepare([](M x, M dy) -> Eigen::MatrixXd {
                                      return dy.transpose() * x;
                                    })});

}  // namespace
}  // namespace lathe
