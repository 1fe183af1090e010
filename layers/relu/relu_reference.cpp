// The oracle: ReLU written plainly.
#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

const RegisterImplementation forward("relu",
                                     {"reference", only_f32, [](const Call& call, const Options&) {
                                        int64_t n = call.outputs[0].shape.elements();
                                        return Prepared{[n](const Bindings& b) {
                                          return host_step([n, x = b.in<float>(0), y = b.out<float>(0)] {
                                            for (int64_t i = 0; i < n; ++i) y[i] = x[i] < 0 ? 0 : x[i];
                                          });
                                        }};
                                      }});

const RegisterImplementation backward("relu_gradient",
                                      {"reference", only_f32, [](const Call& call, const Options&) {
                                         int64_t n = call.outputs[0].shape.elements();
                                         return Prepared{[n](const Bindings& b) {
                                           return host_step([n, y = b.in<float>(0), dy = b.in<float>(1),
                                                             dx = b.out<float>(0)] {
                                             for (int64_t i = 0; i < n; ++i) dx[i] = y[i] > 0 ? dy[i] : 0;
                                           });
                                         }};
                                       }});

}  // namespace
}  // namespace lathe
