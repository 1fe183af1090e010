// The gradient scale through our own kernels.
#include "kernels/optimizer/optimizer.h"
#include "kernels/reduce/ladder.h"
#include "layers/layer.h"

namespace lathe {
namespace {

Prepared prepare(const Call& call, const Options&) {
  std::vector<int64_t> sizes;
  int64_t count = 0;
  for (size_t i = 0; i + 1 < call.inputs.size(); ++i) {
    sizes.push_back(call.inputs[i].shape.elements());
    count += kernels::reduce_partial_count(sizes.back());
  }
  auto bind = [sizes, count, max_norm = call.attributes.real("max_norm")](const Bindings& b) -> Enqueue {
    return [=](cudaStream_t stream) {
      auto* const sums = static_cast<double*>(b.workspace);
      double* next = sums;
      for (size_t i = 0; i < sizes.size(); ++i) {
        kernels::reduce_to_partials(b.in<float>(i), sizes[i], kernels::ReduceKind::square_sum, next, stream);
        next += kernels::reduce_partial_count(sizes[i]);
      }
      kernels::gradient_scale(sums, count, b.in<float>(sizes.size()), max_norm, b.out<float>(0), stream);
    };
  };
  return {bind, count * static_cast<int64_t>(sizeof(double)), ""};
}

const RegisterImplementation handwritten("gradient_scale", {"handwritten", only_f32, prepare});

}  // namespace
}  // namespace lathe
