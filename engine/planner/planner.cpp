// Lifetimes from the schedule: which values share a buffer, and from when until when it is live.
#include "engine/planner/planner.h"

#include <fmt/format.h>

#include <algorithm>

#include "engine/graph/operation.h"

namespace lathe {
namespace {

// Where a value's bytes are: itself, or the value that it is a view of, overwrites, or takes the buffer of.
class Owners {
 public:
  explicit Owners(int count) : parent_(count) {
    for (int id = 0; id < count; ++id) parent_[id] = id;
  }
  int find(int id) const {
    while (parent_[id] != id) id = parent_[id];
    return id;
  }
  void join(int child, int owner) { parent_[find(child)] = find(owner); }

 private:
  std::vector<int> parent_;
};

}  // namespace

MemoryPlan plan_memory(const Graph& graph, const std::vector<int>& schedule,
                       const std::vector<int64_t>& workspaces, bool reuse) {
  int steps = static_cast<int>(schedule.size());
  // First and last step that touches a value's bytes; outputs stay live to the end.
  std::vector<int> first(graph.value_count(), steps), last(graph.value_count(), -1);
  for (int step = 0; step < steps; ++step) {
    const Node& node = graph.node(schedule[step]);
    for (Value input : node.inputs) last[input.id] = step + 1;
    for (Value output : node.outputs) {
      first[output.id] = step;
      last[output.id] = step + 1;
    }
  }
  for (const auto& [name, value] : graph.outputs()) last[value.id] = steps + 1;  // never in place

  Owners owners(graph.value_count());
  auto in_arena = [&](int id) { return graph.info({owners.find(id)}).storage == Storage::computed; };
  auto join = [&](Value child, Value owner) {
    int root = owners.find(owner.id);
    first[root] = std::min(first[root], first[child.id]);
    last[root] = std::max(last[root], last[child.id]);
    owners.join(child.id, root);
  };
  for (int id : schedule) {  // views and updates: the same bytes whatever the options say
    const Node& node = graph.node(id);
    Call call = call_of(graph, node);
    for (size_t i = 0; i < node.outputs.size(); ++i) {
      Alias alias = node.operation->alias(call, static_cast<int>(i));
      if (alias.kind == Alias::view || alias.kind == Alias::update)
        join(node.outputs[i], node.inputs[alias.input]);
    }
  }
  if (reuse) {  // in place where the input's bytes die with this step
    for (int step = 0; step < steps; ++step) {
      const Node& node = graph.node(schedule[step]);
      Call call = call_of(graph, node);
      std::vector<int> taken;
      for (size_t i = 0; i < node.outputs.size(); ++i) {
        Alias alias = node.operation->alias(call, static_cast<int>(i));
        if (alias.kind != Alias::reuse) continue;
        Value input = node.inputs[alias.input];
        int owner = owners.find(input.id);
        bool same_size = graph.type(input).bytes() == graph.type(node.outputs[i]).bytes();
        bool twice = std::count_if(node.inputs.begin(), node.inputs.end(),
                                   [&](Value v) { return owners.find(v.id) == owner; }) != 1;
        bool used = std::find(taken.begin(), taken.end(), owner) != taken.end();
        if (!in_arena(owner) || last[owner] != step + 1 || !same_size || twice || used) continue;
        taken.push_back(owner);
        join(node.outputs[i], input);
      }
    }
  }

  MemoryPlan plan;
  for (int id = 0; id < graph.value_count(); ++id) plan.owner_of_value.push_back(owners.find(id));
  plan.buffer_of_value.assign(graph.value_count(), -1);
  plan.workspace_of_step.assign(steps, -1);
  for (int id : schedule) {
    for (Value output : graph.node(id).outputs) {
      int owner = owners.find(output.id);
      if (!in_arena(owner)) continue;
      int& buffer = plan.buffer_of_value[owner];
      if (buffer < 0) {
        buffer = static_cast<int>(plan.lifetimes.size());
        int64_t bytes = graph.type({owner}).bytes();
        plan.lifetimes.push_back(reuse ? Lifetime{bytes, first[owner], last[owner]}
                                       : Lifetime{bytes, 0, steps + 1});
      }
      plan.buffer_of_value[output.id] = buffer;
    }
  }
  for (int step = 0; step < steps; ++step) {
    if (workspaces.at(step) == 0) continue;
    plan.workspace_of_step[step] = static_cast<int>(plan.lifetimes.size());
    plan.lifetimes.push_back(reuse ? Lifetime{workspaces[step], step, step + 1}
                                   : Lifetime{workspaces[step], 0, steps + 1});
  }
  plan.packing = reuse ? pack_greedy(plan.lifetimes) : pack_naive(plan.lifetimes);
  plan.bound = lower_bound(plan.lifetimes);
  check_packing(plan.lifetimes, plan.packing);
  return plan;
}

std::string describe(const MemoryPlan& plan) {
  constexpr double kMiB = 1024.0 * 1024.0;
  return fmt::format("arena {:.1f} MiB, lower bound {:.1f} MiB, ratio {:.2f}, {} buffers",
                     static_cast<double>(plan.packing.peak) / kMiB, static_cast<double>(plan.bound) / kMiB,
                     plan.ratio(), plan.lifetimes.size());
}

}  // namespace lathe
