// The oracle: broadcast, element by element.
#include "layers/broadcast/broadcast_plan.h"

namespace lathe {
namespace {

const RegisterImplementation forward("broadcast", {"reference", copies_f32, [](const Call& call, const Options&) {
  return reference_step([plan = broadcast_plan(call)](const Bindings& b) {
    copy_on_host(b.in<float>(0), b.out<float>(0), plan);
  });
}});

}  // namespace
}  // namespace lathe
