#include "engine/runtime/select.h"

namespace lathe {

Selection select_implementation(const Operation& operation, const Call& call, const Options& options) {
  const Registry& registry = Registry::instance();
  std::string name(operation.name());
  Selection selection{nullptr, options.implementation_for(name), ""};
  for (const std::string& kind :
       {selection.requested, std::string("library"), std::string("handwritten"), std::string("reference")}) {
    const Implementation* candidate = registry.find(name, kind);
    std::string reason = candidate == nullptr ? "this build has none" : candidate->supports(call);
    if (reason.empty()) {
      selection.implementation = candidate;
      break;
    }
    if (kind == selection.requested && selection.reason.empty()) selection.reason = reason;
  }
  if (selection.implementation != nullptr && selection.implementation->kind == selection.requested) {
    selection.reason.clear();
  }
  // "--kernels library" means the library where it has the operation; only an operation asked for by name,
  // or another kind, is a request that something else could break.
  bool by_name = options.kernels_by_op.count(name) != 0;
  if (!by_name && selection.requested == "library" && registry.find(name, "library") == nullptr) {
    selection.reason.clear();
  }
  return selection;
}

}  // namespace lathe
