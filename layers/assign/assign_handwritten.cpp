// Assignment by a copy on the stream, accumulation by our own kernel; elementwise, so any layout serves.
#include "engine/runtime/cuda_check.h"
#include "kernels/optimizer/optimizer.h"
#include "layers/layer.h"

namespace lathe {
namespace {

std::string anything(const Call&) { return ""; }

const RegisterImplementation assign(
    "assign",
    {"handwritten", anything, [](const Call& call, const Options&) {
       return Prepared{[bytes = call.inputs[0].bytes()](const Bindings& b) -> Enqueue {
         return [=](cudaStream_t stream) {
           check_cuda(cudaMemcpyAsync(b.out<void>(0), b.in<void>(1), bytes, cudaMemcpyDeviceToDevice, stream),
                      "cudaMemcpyAsync");
         };
       }};
     }});

const RegisterImplementation accumulate(
    "accumulate", {"handwritten", only_f32, [](const Call& call, const Options&) {
                     return Prepared{[n = call.inputs[0].shape.elements()](const Bindings& b) -> Enqueue {
                       return [=](cudaStream_t stream) {
                         kernels::accumulate(b.out<float>(0), b.in<float>(1), n, stream);
                       };
                     }};
                   }});

}  // namespace
}  // namespace lathe
