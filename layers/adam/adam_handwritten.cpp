// Adam through our own kernels.
#include "kernels/optimizer/optimizer.h"
#include "layers/layer.h"

namespace lathe {
namespace {

const RegisterImplementation handwritten("adam",
                                         {"handwritten", only_f32, [](const Call& call, const Options&) {
                                            const Attributes& a = call.attributes;
                                            kernels::AdamOptions options{
                                                a.real("beta1"), a.real("beta2"), a.real("epsilon"),
                                                a.real("weight_decay"), a.integer("decoupled") != 0};
                                            int64_t n = call.inputs[0].shape.elements();
                                            auto bind = [=](const Bindings& b) -> Enqueue {
                                              return [=](cudaStream_t stream) {
                                                kernels::adam(b.out<float>(0), b.out<float>(1),
                                                              b.out<float>(2), b.in<float>(1), b.in<float>(4),
                                                              b.in<int64_t>(5), b.in<float>(6), options, n,
                                                              b.workspace, stream);
                                              };
                                            };
                                            return Prepared{bind, kernels::kAdamWorkspaceBytes, ""};
                                          }});

}  // namespace
}  // namespace lathe
