// Changes of layout by oneDNN's reorder.
#include "layers/onednn.h"
#include "layers/step.h"

namespace lathe {
namespace {

std::string supports(const Call& call) {
  return call.inputs[0].dtype == DType::f32
             ? ""
             : "oneDNN reorders f32 only here, not " + to_string(call.inputs[0]);
}

Prepared prepare_forward(const Call& call, const Options&) {
  return onednn::guarded(call, [&] {
    auto x = onednn::descriptor(call.inputs[0]), y = onednn::descriptor(call.outputs[0]);
    dnnl::reorder::primitive_desc plan(onednn::engine(), x, onednn::engine(), y, onednn::user_scratchpad());
    return onednn::as_step(dnnl::reorder(plan), plan.scratchpad_desc(), {{DNNL_ARG_FROM, x, x}},
                           {{DNNL_ARG_TO, y, y}}, plan.impl_info_str());
  });
}
const RegisterImplementation forward("layout_change", {"library", supports, prepare_forward});

}  // namespace
}  // namespace lathe
