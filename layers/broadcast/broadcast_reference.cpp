// The oracle: broadcast, element by element.
#include "layers/broadcast/broadcast_plan.h"

namespace lathe {
namespace {

Prepared prepare_forward(const Call& call, const Options&) {
  return reference_step([plan = broadcast_plan(call)](const Bindings& b) {
    copy_on_host(b.in<float>(0), b.out<float>(0), plan);
  });
}
const RegisterImplementation forward("broadcast", {"reference", copies_f32, prepare_forward});

}  // namespace
}  // namespace lathe
