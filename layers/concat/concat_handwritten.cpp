// Concatenation: one strided copy an input.
#include "layers/concat/concat_plans.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return kernel_step([pieces = concat_plans(call)](const Bindings& b, cudaStream_t stream) {
    for (size_t i = 0; i < pieces.size(); ++i) {
      kernels::strided_copy(b.in<float>(i), b.out<float>(0) + pieces[i].offset, pieces[i].plan, stream);
    }
  });
}
const RegisterImplementation forward("concat", {"handwritten", copies_f32, prepare_forward});

}  // namespace
}  // namespace lathe
