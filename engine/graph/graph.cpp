#include "engine/graph/graph.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <stdexcept>

#include "engine/graph/operation.h"
#include "engine/runtime/error.h"

namespace lathe {

std::string to_string(Phase phase) {
  switch (phase) {
    case Phase::augment:
      return "augment";
    case Phase::forward:
      return "forward";
    case Phase::loss:
      return "loss";
    case Phase::backward:
      return "backward";
    case Phase::update:
      return "update";
  }
  throw std::logic_error("to_string: unknown phase");
}

Value Graph::new_value(ValueInfo info) {
  values_.push_back(std::move(info));
  return {static_cast<int>(values_.size()) - 1};
}

Value Graph::input(const std::string& name, const Type& type) {
  return new_value({.type = type, .name = name, .storage = Storage::input});
}

Value Graph::state(const std::string& name, const Type& type) {
  for (int id = 0; id < value_count(); ++id) {
    if (values_[id].storage != Storage::state || values_[id].name != name) continue;
    if (values_[id].type != type) throw std::logic_error("state " + name + " asked for with two types");
    return {id};
  }
  return new_value({.type = type, .name = name, .storage = Storage::state});
}

Value Graph::constant(const Type& type, double fill) {
  if (type.dtype != DType::f32) throw std::logic_error("constants are f32");
  for (int id = 0; id < value_count(); ++id) {
    if (values_[id].storage == Storage::constant && values_[id].type == type && values_[id].fill == fill)
      return {id};
  }
  return new_value(
      {.type = type, .name = fmt::format("{}", fill), .storage = Storage::constant, .fill = fill});
}

std::vector<Value> Graph::add(const Operation& operation, std::vector<Value> inputs, Attributes attributes,
                              const std::string& name) {
  Node node{&operation, std::move(inputs), {}, std::move(attributes), name, phase};
  if (node.name.empty()) node.name = operation.name();
  std::vector<Type> types = operation.infer(call_of(*this, node));
  int id = node_count();
  for (const Type& type : types) {
    node.outputs.push_back(new_value({.type = type, .name = node.name, .producer = id}));
  }
  nodes_.push_back(node);
  return node.outputs;
}

std::vector<Value> Graph::add(std::string_view operation, std::vector<Value> inputs, Attributes attributes,
                              const std::string& name) {
  return add(Registry::instance().operation(operation), std::move(inputs), std::move(attributes), name);
}

void Graph::output(const std::string& name, Value value) {
  if (find_output(name)) throw std::logic_error("graph output " + name + " named twice");
  outputs_.emplace_back(name, value);
}

std::optional<Value> Graph::find_output(std::string_view name) const {
  for (const auto& [output, value] : outputs_) {
    if (output == name) return value;
  }
  return std::nullopt;
}

std::vector<std::vector<int>> Graph::users() const {
  std::vector<std::vector<int>> users(values_.size());
  for (int id = 0; id < node_count(); ++id) {
    for (Value input : nodes_[id].inputs) {
      std::vector<int>& list = users[input.id];
      if (list.empty() || list.back() != id) list.push_back(id);
    }
  }
  return users;
}

std::string print(const Graph& graph) {
  std::string text;
  auto list = [&](const std::vector<Value>& values, bool types) {
    std::vector<std::string> parts;
    for (Value value : values) {
      const ValueInfo& info = graph.info(value);
      std::string part = fmt::format("%{}", value.id);
      if (info.storage != Storage::computed) part += ":" + info.name;
      if (types) part += " " + to_string(info.type);
      parts.push_back(part);
    }
    return fmt::format("{}", fmt::join(parts, ", "));
  };
  for (int id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    std::string attributes = to_string(node.attributes);
    text += fmt::format("{} = {}({}){}  # {} {}\n", list(node.outputs, true), node.operation->name(),
                        list(node.inputs, false), attributes.empty() ? "" : " {" + attributes + "}",
                        to_string(node.phase), node.name);
  }
  for (const auto& [name, value] : graph.outputs()) text += fmt::format("output {} = %{}\n", name, value.id);
  return text;
}

std::string print_dot(const Graph& graph) {
  std::string text = "digraph lathe {\n  node [shape=box, fontname=\"sans-serif\"];\n";
  for (int id = 0; id < graph.value_count(); ++id) {
    const ValueInfo& info = graph.info({id});
    if (info.storage == Storage::computed) continue;
    text += fmt::format("  v{} [shape=ellipse, label=\"{}\\n{}\"];\n", id, info.name, to_string(info.type));
  }
  for (int id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    text += fmt::format("  n{} [label=\"{}\\n{}\"];\n", id, node.operation->name(), node.name);
    for (Value input : node.inputs) {
      const ValueInfo& info = graph.info(input);
      std::string from = info.producer < 0 ? fmt::format("v{}", input.id) : fmt::format("n{}", info.producer);
      text += fmt::format("  {} -> n{} [label=\"{}\"];\n", from, id, to_string(info.type));
    }
  }
  return text + "}\n";
}

}  // namespace lathe
