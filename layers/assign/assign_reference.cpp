// The oracle: assignment and accumulation written plainly.
#include <cstring>

#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

std::string anything(const Call&) { return ""; }

const RegisterImplementation assign("assign",
                                    {"reference", anything, [](const Call& call, const Options&) {
                                       return Prepared{[bytes = call.inputs[0].bytes()](const Bindings& b) {
                                         return host_step(
                                             [=] { std::memcpy(b.out<void>(0), b.in<void>(1), bytes); });
                                       }};
                                     }});

const RegisterImplementation accumulate("accumulate",
                                        {"reference", only_f32, [](const Call& call, const Options&) {
                                           return Prepared{
                                               [n = call.inputs[0].shape.elements()](const Bindings& b) {
                                                 return host_step([=] {
                                                   for (int64_t i = 0; i < n; ++i)
                                                     b.out<float>(0)[i] += b.in<float>(1)[i];
                                                 });
                                               }};
                                         }});

}  // namespace
}  // namespace lathe
