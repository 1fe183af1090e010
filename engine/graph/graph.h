// The static graph of one training (or evaluation) step: values, and the nodes that compute them.
//
// A Graph is a value type: passes copy it and return a changed one. Values and nodes are named by index.
// A value is one of
//   input     fed anew for every step (pictures, labels, learning rate)
//   state     lives outside the arena from step to step (parameters, optimiser state, running statistics);
//             found by name in a State
//   constant  filled once when the executable is made
//   computed  the output of a node
// State is updated in place: an operation declares that an output overwrites one of its inputs
// (Alias::update), and the schedule places such a node after every other reader of the old contents.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/attributes.h"
#include "engine/graph/types.h"

namespace lathe {

class Operation;

// Handle of a value in its graph.
struct Value {
  int id = -1;
  explicit operator bool() const { return id >= 0; }
  bool operator==(const Value&) const = default;
};

enum class Storage : uint8_t { input, state, constant, computed };

// Which part of the step a node belongs to; for reports and profiles.
enum class Phase : uint8_t { augment, forward, loss, backward, update };
std::string to_string(Phase phase);

struct ValueInfo {
  Type type;
  std::string name;
  Storage storage = Storage::computed;
  int producer = -1;  // node id, -1 unless computed
  double fill = 0;    // constants: every element
};

struct Node {
  const Operation* operation = nullptr;
  std::vector<Value> inputs, outputs;
  Attributes attributes;
  std::string name;
  Phase phase = Phase::forward;
};

class Graph {
 public:
  Value input(const std::string& name, const Type& type);
  // A state value; asking again for a name gives the same value (its type must agree).
  Value state(const std::string& name, const Type& type);
  Value constant(const Type& type, double fill);  // f32 only; equal constants are one value

  // Adds a node at the end; types come from the operation's shape rule. Throws Error(usage) where it refuses.
  std::vector<Value> add(const Operation& operation, std::vector<Value> inputs, Attributes attributes = {},
                         const std::string& name = "");
  // As add, for an operation by its registered name.
  std::vector<Value> add(std::string_view operation, std::vector<Value> inputs, Attributes attributes = {},
                         const std::string& name = "");
  // As add, for operations with one output.
  Value add1(std::string_view operation, std::vector<Value> inputs, Attributes attributes = {},
             const std::string& name = "") {
    return add(operation, std::move(inputs), std::move(attributes), name).at(0);
  }

  // Names a value that the caller reads after the step.
  void output(const std::string& name, Value value);

  const Type& type(Value value) const { return values_.at(value.id).type; }
  const ValueInfo& info(Value value) const { return values_.at(value.id); }
  ValueInfo& info(Value value) { return values_.at(value.id); }
  const Node& node(int id) const { return nodes_.at(id); }
  Node& node(int id) { return nodes_.at(id); }
  const Node* producer(Value value) const {
    int id = info(value).producer;
    return id < 0 ? nullptr : &nodes_[id];
  }
  int node_count() const { return static_cast<int>(nodes_.size()); }
  int value_count() const { return static_cast<int>(values_.size()); }
  const std::vector<std::pair<std::string, Value>>& outputs() const { return outputs_; }
  std::optional<Value> find_output(std::string_view name) const;
  // Node ids that read a value, in node order; recomputed on each call (O(nodes)).
  std::vector<std::vector<int>> users() const;

  // New nodes take this phase and this name prefix.
  Phase phase = Phase::forward;

 private:
  Value new_value(ValueInfo info);
  std::vector<ValueInfo> values_;
  std::vector<Node> nodes_;  // always in an order in which every input comes before its use
  std::vector<std::pair<std::string, Value>> outputs_;
};

// One line a node: "%5 f32[8, 64] = linear(%3, %4) {…}   forward  classifier.0".
std::string print(const Graph& graph);
// The same for Graphviz.
std::string print_dot(const Graph& graph);

}  // namespace lathe
