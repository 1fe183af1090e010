// Average pooling, fixed and adaptive, through our own kernels.
#include "layers/pool.h"

namespace lathe {
namespace {

bool count_padding(const Call& call) {
  return call.attributes.has("count_include_pad") && call.attributes.integer("count_include_pad") != 0;
}

Prepared forward(const Call& call, const Options&) {
  return kernel_step([pool = pool_of(call.attributes, call.inputs[0], call.outputs[0]),
                      padded = count_padding(call)](const Bindings& b, cudaStream_t stream) {
    kernels::average_pool(b.in<float>(0), b.out<float>(0), pool, padded, stream);
  });
}

Prepared backward(const Call& call, const Options&) {
  return kernel_step([pool = pool_of(call.attributes, call.outputs[0], call.inputs[0]),
                      padded = count_padding(call)](const Bindings& b, cudaStream_t stream) {
    kernels::average_pool_gradient(b.in<float>(0), b.out<float>(0), pool, padded, stream);
  });
}

const RegisterImplementation fixed("avg_pool", {"handwritten", only_f32, forward});
const RegisterImplementation fixed_gradient("avg_pool_gradient", {"handwritten", only_f32, backward});
const RegisterImplementation adaptive("adaptive_avg_pool", {"handwritten", only_f32, forward});
const RegisterImplementation adaptive_gradient("adaptive_avg_pool_gradient",
                                               {"handwritten", only_f32, backward});

}  // namespace
}  // namespace lathe
