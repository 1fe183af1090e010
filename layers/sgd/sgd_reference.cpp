// The oracle: SGD written plainly, each step in double.
#include <cmath>

#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

const RegisterImplementation reference("sgd", {"reference", only_f32, [](const Call& call, const Options&) {
                                                 double momentum = call.attributes.real("momentum"),
                                                        decay = call.attributes.real("weight_decay");
                                                 bool nesterov = call.attributes.integer("nesterov") != 0;
                                                 int64_t n = call.inputs[0].shape.elements();
                                                 return Prepared{[=](const Bindings& b) {
                                                   return host_step([=] {
                                                     size_t scalars = momentum > 0 ? 3 : 2;
                                                     double lr = *b.in<float>(scalars),
                                                            scale = *b.in<float>(scalars + 1);
                                                     if (std::isnan(scale)) return;
                                                     auto* parameter = b.out<float>(0);
                                                     for (int64_t i = 0; i < n; ++i) {
                                                       double step =
                                                           b.in<float>(1)[i] * scale + decay * parameter[i];
                                                       if (momentum > 0) {
                                                         double moved = momentum * b.out<float>(1)[i] + step;
                                                         b.out<float>(1)[i] = static_cast<float>(moved);
                                                         step = nesterov ? step + momentum * moved : moved;
                                                       }
                                                       parameter[i] =
                                                           static_cast<float>(parameter[i] - lr * step);
                                                     }
                                                   });
                                                 }};
                                               }});

}  // namespace
}  // namespace lathe
