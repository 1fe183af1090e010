#include "engine/passes/passes.h"

namespace lathe {

Graph run_passes(Graph graph, const Options& options, Layout native, std::vector<std::string>* notes) {
  auto apply = [&](PassResult result) {
    if (notes != nullptr) notes->push_back(result.note);
    graph = std::move(result.graph);
  };
  apply(simplify(graph));
  if (options.layout == "native") apply(propagate_layout(graph, native, options));
  if (options.layout == "nhwc") apply(propagate_layout(graph, Layout::nhwc, options));
  return graph;
}

}  // namespace lathe
