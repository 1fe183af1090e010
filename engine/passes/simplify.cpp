#include <fmt/format.h>

#include <map>
#include <tuple>

#include "engine/graph/operation.h"
#include "engine/passes/passes.h"

namespace lathe {
namespace {

bool is_output(const Graph& graph, Value value) {
  for (const auto& [name, output] : graph.outputs()) {
    if (output == value) return true;
  }
  return false;
}

// Which nodes the outputs and the effects need.
std::vector<bool> needed_nodes(const Graph& graph) {
  std::vector<bool> needed(graph.node_count(), false);
  std::vector<bool> value_needed(graph.value_count(), false);
  for (const auto& [name, value] : graph.outputs()) value_needed[value.id] = true;
  for (int id = graph.node_count() - 1; id >= 0; --id) {
    const Node& node = graph.node(id);
    bool keep = node.operation->has_effect(call_of(graph, node));
    for (Value output : node.outputs) keep = keep || value_needed[output.id];
    if (!keep) continue;
    needed[id] = true;
    for (Value input : node.inputs) value_needed[input.id] = true;
  }
  return needed;
}

}  // namespace

PassResult simplify(const Graph& graph) {
  Graph result;
  std::vector<Value> mapped(graph.value_count());
  auto map_value = [&](Value old) {
    if (mapped[old.id]) return mapped[old.id];
    const ValueInfo& info = graph.info(old);
    if (info.storage == Storage::input) mapped[old.id] = result.input(info.name, info.type);
    if (info.storage == Storage::state) mapped[old.id] = result.state(info.name, info.type);
    if (info.storage == Storage::constant) mapped[old.id] = result.constant(info.type, info.fill);
    return mapped[old.id];
  };
  // Every input stays, read or not: the caller fills them by name.
  for (int id = 0; id < graph.value_count(); ++id) {
    if (graph.info({id}).storage == Storage::input) map_value({id});
  }

  std::vector<bool> needed = needed_nodes(graph);
  std::map<std::tuple<std::string, std::vector<int>, std::string>, std::vector<Value>> computed;
  int identities = 0, duplicates = 0, dead = 0;
  for (int id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    if (!needed[id]) {
      ++dead;
      continue;
    }
    Call call = call_of(graph, node);
    std::optional<int> passes_on = node.operation->identity(call);
    if (passes_on && !is_output(graph, node.outputs[0])) {
      mapped[node.outputs[0].id] = map_value(node.inputs[*passes_on]);
      ++identities;
      continue;
    }
    std::vector<Value> inputs;
    std::vector<int> input_ids;
    for (Value input : node.inputs) {
      inputs.push_back(map_value(input));
      input_ids.push_back(inputs.back().id);
    }
    bool effect = node.operation->has_effect(call);
    auto key = std::make_tuple(std::string(node.operation->name()), input_ids, to_string(node.attributes));
    auto twin = computed.find(key);
    std::vector<Value> outputs;
    if (!effect && twin != computed.end()) {
      outputs = twin->second;
      ++duplicates;
    } else {
      result.phase = node.phase;
      outputs = result.add(*node.operation, inputs, node.attributes, node.name);
      for (size_t i = 0; i < outputs.size(); ++i)
        result.info(outputs[i]).type = call.outputs[i];  // keeps layouts
      if (!effect) computed[key] = outputs;
    }
    for (size_t i = 0; i < outputs.size(); ++i) mapped[node.outputs[i].id] = outputs[i];
  }
  for (const auto& [name, value] : graph.outputs()) result.output(name, map_value(value));
  return {std::move(result), fmt::format("simplify: {} identities, {} duplicates, {} dead nodes removed",
                                         identities, duplicates, dead)};
}

}  // namespace lathe
