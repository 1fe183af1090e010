#include <algorithm>
#include <stdexcept>

#include "engine/graph/operation.h"
#include "engine/passes/passes.h"

namespace lathe {

std::vector<int> schedule(const Graph& graph) {
  int nodes = graph.node_count();
  std::vector<std::vector<int>> after(nodes);  // after[n]: nodes that wait for n
  std::vector<int> waiting(nodes, 0);
  auto edge = [&](int from, int to) {
    after[from].push_back(to);
    ++waiting[to];
  };
  std::vector<std::vector<int>> users = graph.users();
  std::vector<bool> is_update(nodes, false);
  for (int id = 0; id < nodes; ++id) {
    const Node& node = graph.node(id);
    for (Value input : node.inputs) {
      if (graph.info(input).producer >= 0) edge(graph.info(input).producer, id);
    }
    Call call = call_of(graph, node);
    for (size_t output = 0; output < node.outputs.size(); ++output) {
      Alias alias = node.operation->alias(call, static_cast<int>(output));
      if (alias.kind != Alias::update) continue;
      is_update[id] = true;
      // Whoever reads the old contents goes first. A chain of updates (accumulate, then clear) reads its
      // predecessor's output, which the ordinary edges order already.
      for (int reader : users[node.inputs[alias.input].id]) {
        if (reader != id) edge(reader, id);
      }
    }
  }

  std::vector<int> order;
  std::vector<bool> done(nodes, false);
  int position = 0;  // of the walk below; what it has passed over runs as soon as it can
  auto run = [&](auto&& self, int id) -> void {
    done[id] = true;
    order.push_back(id);
    std::vector<int> ready;
    for (int next : after[id]) {
      if (--waiting[next] == 0 && (is_update[next] || next < position)) ready.push_back(next);
    }
    for (int next : ready) {
      if (!done[next]) self(self, next);
    }
  };
  for (position = 0; position < nodes; ++position) {
    if (!done[position] && waiting[position] == 0) run(run, position);
  }
  if (static_cast<int>(order.size()) != nodes) {
    throw std::logic_error("schedule: a value is read after the node that overwrites it");
  }
  return order;
}

}  // namespace lathe
