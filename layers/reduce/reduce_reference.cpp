// The oracle: every element is added to its output, in double.
#include <algorithm>

#include "layers/reduce/reduce_axes.h"
#include "layers/strided.h"

namespace lathe {
namespace {

// The output that element `index` of x belongs to.
int64_t output_of(int64_t index, const Shape& shape, const std::vector<int64_t>& axes) {
  int64_t output = 0, stride = 1;
  for (int64_t axis = shape.rank() - 1; axis >= 0; --axis) {
    if (!has_axis(axes, axis)) output += index % shape[axis] * stride, stride *= shape[axis];
    index /= shape[axis];
  }
  return output;
}

Prepared reduction(const Call& call, bool mean) {
  return reference_step([call, mean](const Bindings& b) {
    const Shape& shape = call.inputs[0].shape;
    int64_t outputs = call.outputs[0].shape.elements();
    double divisor = mean ? static_cast<double>(shape.elements() / outputs) : 1;
    std::vector<double> sums(outputs, 0.0);
    for (int64_t i = 0; i < shape.elements(); ++i) {
      sums[output_of(i, shape, call.attributes.integers("axes"))] += static_cast<double>(b.in<float>(0)[i]);
    }
    std::transform(sums.begin(), sums.end(), b.out<float>(0),
                   [&](double s) { return static_cast<float>(s / divisor); });
  });
}

Prepared prepare_sum(const Call& call, const Options&) { return reduction(call, false); }
const RegisterImplementation sum("reduce_sum", {"reference", copies_f32, prepare_sum});
Prepared prepare_mean(const Call& call, const Options&) { return reduction(call, true); }
const RegisterImplementation mean("reduce_mean", {"reference", copies_f32, prepare_mean});

}  // namespace
}  // namespace lathe
