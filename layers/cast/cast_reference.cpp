// The oracle: casts by Eigen's half and bfloat16.
#include <Eigen/Core>

#include "layers/step.h"

namespace lathe {
namespace {

std::string any_type(const Call&) { return ""; }

template <typename In, typename Out>
Prepared convert(int64_t n) {
  return reference_step([n](const Bindings& b) {
    for (int64_t i = 0; i < n; ++i) b.out<Out>(0)[i] = static_cast<Out>(static_cast<float>(b.in<In>(0)[i]));
  });
}

template <typename In>
Prepared convert_from(DType to, int64_t n) {
  if (to == DType::f16) return convert<In, Eigen::half>(n);
  if (to == DType::bf16) return convert<In, Eigen::bfloat16>(n);
  return convert<In, float>(n);
}

Prepared prepare_forward(const Call& call, const Options&) {
  DType to = call.outputs[0].dtype;
  int64_t n = call.outputs[0].shape.elements();
  switch (call.inputs[0].dtype) {
    case DType::u8:
      return convert_from<uint8_t>(to, n);
    case DType::f16:
      return convert_from<Eigen::half>(to, n);
    case DType::bf16:
      return convert_from<Eigen::bfloat16>(to, n);
    default:
      return convert_from<float>(to, n);
  }
}
const RegisterImplementation forward("cast", {"reference", any_type, prepare_forward});

}  // namespace
}  // namespace lathe
