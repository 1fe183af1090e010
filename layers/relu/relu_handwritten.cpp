// ReLU through our own kernels; elementwise, so any layout serves.
#include "kernels/elementwise/elementwise.h"
#include "layers/layer.h"

namespace lathe {
namespace {

const RegisterImplementation forward("relu", {"handwritten", only_f32, [](const Call& call, const Options&) {
                                                int64_t n = call.outputs[0].shape.elements();
                                                return Prepared{[n](const Bindings& b) -> Enqueue {
                                                  return [n, x = b.in<float>(0),
                                                          y = b.out<float>(0)](cudaStream_t stream) {
                                                    kernels::relu(x, y, n, stream);
                                                  };
                                                }};
                                              }});

const RegisterImplementation backward("relu_gradient",
                                      {"handwritten", only_f32, [](const Call& call, const Options&) {
                                         int64_t n = call.outputs[0].shape.elements();
                                         return Prepared{[n](const Bindings& b) -> Enqueue {
                                           return [n, y = b.in<float>(0), dy = b.in<float>(1),
                                                   dx = b.out<float>(0)](cudaStream_t stream) {
                                             kernels::relu_gradient(y, dy, dx, n, stream);
                                           };
                                         }};
                                       }});

}  // namespace
}  // namespace lathe
