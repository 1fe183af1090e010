#include "engine/graph/differentiate.h"

#include "engine/graph/operation.h"

namespace lathe {

std::vector<Value> differentiate(Graph& graph, Value loss, Value loss_gradient,
                                 const std::vector<Value>& targets, const Sum& sum) {
  // Which values depend on a target: only those carry gradients.
  std::vector<bool> depends(graph.value_count(), false);
  for (Value target : targets) depends[target.id] = true;
  int nodes = graph.node_count();
  for (int id = 0; id < nodes; ++id) {
    const Node& node = graph.node(id);
    bool any = false;
    for (Value input : node.inputs) any = any || depends[input.id];
    for (Value output : node.outputs) depends[output.id] = any;
  }

  std::vector<Value> gradients(graph.value_count());
  gradients[loss.id] = loss_gradient;
  for (int id = nodes - 1; id >= 0; --id) {
    const Node node = graph.node(id);  // a copy: adding nodes moves the originals
    std::vector<Value> output_gradients;
    bool reached = false;
    for (Value output : node.outputs) {
      output_gradients.push_back(gradients[output.id]);
      reached = reached || gradients[output.id];
    }
    std::vector<bool> wanted;
    bool any_wanted = false;
    for (Value input : node.inputs) {
      wanted.push_back(depends[input.id]);
      any_wanted = any_wanted || depends[input.id];
    }
    if (!reached || !any_wanted) continue;
    std::vector<Value> contributions = node.operation->gradient(graph, node, output_gradients, wanted);
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (!contributions.at(i) || !wanted[i]) continue;
      Value& gradient = gradients[node.inputs[i].id];
      gradient = gradient ? sum(graph, gradient, contributions[i]) : contributions[i];
    }
  }
  std::vector<Value> result;
  for (Value target : targets) result.push_back(gradients[target.id]);
  return result;
}

}  // namespace lathe
