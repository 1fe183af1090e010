// Graph → Program: schedule, implementations, memory plan.
#include <fmt/format.h>

#include <algorithm>

#include "engine/passes/passes.h"
#include "engine/runtime/error.h"
#include "engine/runtime/executable.h"
#include "engine/runtime/select.h"

namespace lathe {
namespace {

bool only_views(const Operation& operation, const Call& call) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (operation.alias(call, static_cast<int>(i)).kind != Alias::view) return false;
  }
  return true;
}

void note_substitution(Program& program, const Node& node, const Selection& selection) {
  if (selection.reason.empty()) return;
  Substitution entry{std::string(node.operation->name()), selection.requested, selection.implementation->kind,
                     selection.reason};
  if (program.options.strict) {
    throw Error(ExitCode::usage, fmt::format("--strict: {} ({}) cannot use {} kernels: {}", entry.operation,
                                             node.name, entry.requested, entry.reason));
  }
  for (const Substitution& known : program.substitutions) {
    if (known.operation == entry.operation && known.reason == entry.reason) return;
  }
  program.substitutions.push_back(std::move(entry));
}

}  // namespace

Program compile(Graph graph, const Options& options) {
  Program program{std::move(graph), options, {}, {}, {}};
  std::vector<int> order = schedule(program.graph);
  std::vector<int64_t> workspaces;
  for (int id : order) {
    const Node& node = program.graph.node(id);
    PlannedStep step{id, call_of(program.graph, node), {}, "view", {}};
    if (!only_views(*node.operation, step.call)) {
      Selection selection = select_implementation(*node.operation, step.call, options);
      if (selection.implementation == nullptr) {
        throw Error(ExitCode::usage,
                    fmt::format("{}: no implementation of {} handles {}: {}", node.name,
                                node.operation->name(), to_string(step.call.inputs.at(0)), selection.reason));
      }
      note_substitution(program, node, selection);
      step.cost = node.operation->cost(step.call);
      step.implementation = selection.implementation->kind;
      step.prepared = selection.implementation->prepare(step.call, options);
    }
    workspaces.push_back(step.prepared.workspace_bytes);
    program.steps.push_back(std::move(step));
  }
  program.memory = plan_memory(program.graph, order, workspaces, options.memory != Memory::naive);
  return program;
}

}  // namespace lathe
