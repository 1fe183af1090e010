// SGD through our own kernel.
#include "kernels/optimizer/optimizer.h"
#include "layers/layer.h"

namespace lathe {
namespace {

const RegisterImplementation handwritten(
    "sgd", {"handwritten", only_f32, [](const Call& call, const Options&) {
              const Attributes& a = call.attributes;
              kernels::SgdOptions options{static_cast<float>(a.real("momentum")),
                                          static_cast<float>(a.real("weight_decay")),
                                          a.integer("nesterov") != 0};
              int64_t n = call.inputs[0].shape.elements();
              return Prepared{[=](const Bindings& b) -> Enqueue {
                bool momentum = b.outputs.size() > 1;
                size_t scalars = momentum ? 3 : 2;
                return [=, parameter = b.out<float>(0), buffer = momentum ? b.out<float>(1) : nullptr,
                        gradient = b.in<float>(1), lr = b.in<float>(scalars),
                        scale = b.in<float>(scalars + 1)](cudaStream_t stream) {
                  kernels::sgd(parameter, buffer, gradient, lr, scale, options, n, stream);
                };
              }};
            }});

}  // namespace
}  // namespace lathe
