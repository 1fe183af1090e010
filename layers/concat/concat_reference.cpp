// The oracle: concatenation as runs of contiguous elements.
#include <algorithm>

#include "layers/strided.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([call](const Bindings& b) {
    int64_t axis = call.attributes.integer("axis"), outer = 1;
    for (int64_t i = 0; i < axis; ++i) outer *= call.outputs[0].shape[i];
    float* out = b.out<float>(0);
    for (int64_t o = 0; o < outer; ++o) {
      for (size_t i = 0; i < call.inputs.size(); ++i) {
        int64_t run = call.inputs[i].shape.elements() / outer;
        out = std::copy_n(b.in<float>(i) + o * run, run, out);
      }
    }
  });
}
const RegisterImplementation forward("concat", {"reference", copies_f32, prepare_forward});

}  // namespace
}  // namespace lathe
