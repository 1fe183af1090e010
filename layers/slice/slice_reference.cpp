// The oracle: slices as runs of contiguous elements.
#include <algorithm>

#include "layers/strided.h"

namespace lathe {
namespace {

// Both tensors as [outer, axis · inner]; a run is the smaller one's axis · inner elements.
struct Runs {
  int64_t outer, small, large, begin;
};
Runs runs_of(const Call& call, const Shape& small, const Shape& large) {
  int64_t axis = call.attributes.integer("axis"), inner = 1;
  Runs runs{1, 0, 0, 0};
  for (int64_t i = 0; i < axis; ++i) runs.outer *= large[i];
  for (int64_t i = axis + 1; i < large.rank(); ++i) inner *= large[i];
  runs.small = small[axis] * inner;
  runs.large = large[axis] * inner;
  runs.begin = call.attributes.integer("begin") * inner;
  return runs;
}

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([r = runs_of(call, call.outputs[0].shape, call.inputs[0].shape)](const Bindings& b) {
    for (int64_t o = 0; o < r.outer; ++o) {
      std::copy_n(b.in<float>(0) + o * r.large + r.begin, r.small, b.out<float>(0) + o * r.small);
    }
  });
}
const RegisterImplementation forward("slice", {"reference", copies_f32, prepare_forward});

Prepared prepare_backward(const Call& call, const Options&) {
  return reference_step([r = runs_of(call, call.inputs[0].shape, call.outputs[0].shape)](const Bindings& b) {
    std::fill_n(b.out<float>(0), r.outer * r.large, 0.0f);
    for (int64_t o = 0; o < r.outer; ++o) {
      std::copy_n(b.in<float>(0) + o * r.small, r.small, b.out<float>(0) + o * r.large + r.begin);
    }
  });
}
const RegisterImplementation backward("slice_gradient", {"reference", copies_f32, prepare_backward});

}  // namespace
}  // namespace lathe
