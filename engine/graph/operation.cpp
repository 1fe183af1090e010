#include "engine/graph/operation.h"

#include <fmt/format.h>

#include <stdexcept>

namespace lathe {

Call call_of(const Graph& graph, const Node& node) {
  Call call{{}, {}, node.attributes, node.name};
  for (Value value : node.inputs) call.inputs.push_back(graph.type(value));
  for (Value value : node.outputs) call.outputs.push_back(graph.type(value));
  return call;
}

std::vector<Value> Operation::gradient(Graph&, const Node& node, const std::vector<Value>&,
                                       const std::vector<bool>&) const {
  throw std::logic_error(fmt::format("{} ({}) has no gradient rule", name(), node.name));
}

Cost Operation::cost(const Call& call) const {
  Cost cost;
  for (const Type& type : call.inputs) cost.bytes += static_cast<double>(type.bytes());
  for (const Type& type : call.outputs) cost.bytes += static_cast<double>(type.bytes());
  return cost;
}

Alias Operation::alias(const Call&, int) const { return {}; }
LayoutRule Operation::input_layout(const Call&, int) const { return LayoutRule::row_major; }
LayoutRule Operation::output_layout(const Call&, int) const { return LayoutRule::row_major; }
std::optional<int> Operation::identity(const Call&) const { return std::nullopt; }

bool Operation::has_effect(const Call& call) const {
  for (size_t output = 0; output < call.outputs.size(); ++output) {
    if (alias(call, static_cast<int>(output)).kind == Alias::update) return true;
  }
  return false;
}

Registry& Registry::instance() {
  static Registry registry;
  return registry;
}

void Registry::add(std::unique_ptr<Operation> operation) {
  std::string name(operation->name());
  if (!operations_.emplace(name, std::move(operation)).second) {
    throw std::logic_error("operation registered twice: " + name);
  }
}

void Registry::add(const std::string& operation, Implementation implementation) {
  implementations_[operation].push_back(std::move(implementation));
}

const Operation& Registry::operation(std::string_view name) const {
  auto found = operations_.find(name);
  if (found == operations_.end()) throw std::logic_error(fmt::format("unknown operation '{}'", name));
  return *found->second;
}

const Implementation* Registry::find(std::string_view operation, std::string_view kind) const {
  auto found = implementations_.find(operation);
  if (found == implementations_.end()) return nullptr;
  for (const Implementation& implementation : found->second) {
    if (implementation.kind == kind) return &implementation;
  }
  return nullptr;
}

std::vector<std::string> Registry::operations() const {
  std::vector<std::string> names;
  for (const auto& [name, operation] : operations_) names.push_back(name);
  return names;
}

std::vector<std::string> Registry::kinds(std::string_view operation) const {
  std::vector<std::string> kinds;
  auto found = implementations_.find(operation);
  if (found == implementations_.end()) return kinds;
  for (const Implementation& implementation : found->second) kinds.push_back(implementation.kind);
  return kinds;
}

}  // namespace lathe
