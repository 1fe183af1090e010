// Slices as strided copies.
#include "layers/strided.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  std::vector<int64_t> in = strides_of(call.inputs[0].shape), out = strides_of(call.outputs[0].shape);
  int64_t offset = call.attributes.integer("begin") * in[call.attributes.integer("axis")];
  return kernel_step(
      [offset, plan = copy_plan(call.outputs[0].shape, in, out)](const Bindings& b, cudaStream_t stream) {
        kernels::strided_copy(b.in<float>(0) + offset, b.out<float>(0), plan, stream);
      });
}
const RegisterImplementation forward("slice", {"handwritten", copies_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  std::vector<int64_t> in = strides_of(call.inputs[0].shape), out = strides_of(call.outputs[0].shape);
  int64_t offset = call.attributes.integer("begin") * out[call.attributes.integer("axis")];
  size_t bytes = static_cast<size_t>(call.outputs[0].bytes());
  return kernel_step([offset, bytes, plan = copy_plan(call.inputs[0].shape, in, out)](const Bindings& b,
                                                                                      cudaStream_t stream) {
    cudaMemsetAsync(b.out<float>(0), 0, bytes, stream);
    kernels::strided_copy(b.in<float>(0), b.out<float>(0) + offset, plan, stream);
  });
}
const RegisterImplementation backward("slice_gradient", {"handwritten", copies_f32, prepare_backward});

}  // namespace
}  // namespace lathe
