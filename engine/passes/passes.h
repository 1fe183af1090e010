// The passes: pure functions from graph to graph, each one switch, each saying in one line what it did.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/runtime/options.h"

namespace lathe {

struct PassResult {
  Graph graph;
  std::string note;  // "simplify: 3 identities, 0 duplicates, 12 dead nodes removed"
};

// Removes nodes that pass an input on, nodes that compute what another already computes, and nodes that
// nobody reads.
PassResult simplify(const Graph& graph);

// Gives 4-D values the library's blocked layout where every tied operand of an operation can have it, and
// adds layout_change nodes where neighbours disagree (one a value and layout). `native` is the layout to
// spread.
PassResult propagate_layout(const Graph& graph, Layout native, const Options& options);

// Node ids in running order: the graph's own order, except that an update runs as soon as its inputs are
// there and every other reader of what it overwrites has run, so that gradients die early.
std::vector<int> schedule(const Graph& graph);

// All passes that the options ask for, in order; a note each is appended. `native` is what --layout native
// means here.
Graph run_passes(Graph graph, const Options& options, Layout native, std::vector<std::string>* notes);

}  // namespace lathe
