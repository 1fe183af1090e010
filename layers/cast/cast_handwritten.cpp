// Casts through our own kernels.
#include "kernels/elementwise/elementwise.h"
#include "layers/step.h"

namespace lathe {
namespace {

std::string any_type(const Call&) { return ""; }

template <auto Kernel, typename In, typename Out>
Prepared with(int64_t n) {
  return kernel_step(
      [n](const Bindings& b, cudaStream_t stream) { Kernel(b.in<In>(0), b.out<Out>(0), n, stream); });
}

Prepared prepare_forward(const Call& call, const Options&) {
  DType from = call.inputs[0].dtype, to = call.outputs[0].dtype;
  int64_t n = call.outputs[0].shape.elements();
  size_t bytes = static_cast<size_t>(call.outputs[0].bytes());
  if (from == DType::u8) return with<kernels::u8_to_f32, uint8_t, float>(n);
  if (from == DType::f32 && to == DType::f16) return with<kernels::f32_to_f16, float, uint16_t>(n);
  if (from == DType::f32 && to == DType::bf16) return with<kernels::f32_to_bf16, float, uint16_t>(n);
  if (from == DType::f16 && to == DType::f32) return with<kernels::f16_to_f32, uint16_t, float>(n);
  if (from == DType::f16 && to == DType::bf16) return with<kernels::f16_to_bf16, uint16_t, uint16_t>(n);
  if (from == DType::bf16 && to == DType::f32) return with<kernels::bf16_to_f32, uint16_t, float>(n);
  if (from == DType::bf16 && to == DType::f16) return with<kernels::bf16_to_f16, uint16_t, uint16_t>(n);
  return kernel_step([bytes](const Bindings& b, cudaStream_t stream) {
    cudaMemcpyAsync(b.outputs[0], b.inputs[0], bytes, cudaMemcpyDeviceToDevice, stream);
  });
}
const RegisterImplementation forward("cast", {"handwritten", any_type, prepare_forward});

}  // namespace
}  // namespace lathe
