// The oracle: the gradient scale written plainly, in double.
#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/runtime/host_step.h"
#include "layers/layer.h"

namespace lathe {
namespace {

float scale_of(const Bindings& b, const std::vector<int64_t>& sizes, double max_norm) {
  double loss_scale = *b.in<float>(sizes.size()), squares = 0;
  for (size_t i = 0; i < sizes.size(); ++i)
    for (int64_t k = 0; k < sizes[i]; ++k) squares += std::pow(b.in<float>(i)[k] / loss_scale, 2);
  double norm = std::sqrt(squares);
  if (!std::isfinite(norm) || !std::isfinite(loss_scale) || loss_scale <= 0)
    return std::numeric_limits<float>::quiet_NaN();
  double clip = max_norm > 0 && norm > 0 ? std::min(1.0, max_norm / norm) : 1;
  return static_cast<float>(clip / loss_scale);
}

const RegisterImplementation reference("gradient_scale",
                                       {"reference", only_f32, [](const Call& call, const Options&) {
                                          std::vector<int64_t> sizes;
                                          for (size_t i = 0; i + 1 < call.inputs.size(); ++i)
                                            sizes.push_back(call.inputs[i].shape.elements());
                                          double max_norm = call.attributes.real("max_norm");
                                          return Prepared{[=](const Bindings& b) {
                                            return host_step(
                                                [=] { *b.out<float>(0) = scale_of(b, sizes, max_norm); });
                                          }};
                                        }});

}  // namespace
}  // namespace lathe
