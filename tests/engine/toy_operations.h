// A few operations of the engine's own tests, so that the engine is tested without any layer.
//   toy.add(a, b)  toy.multiply(a, b)  toy.relu(x)  toy.flat(x): a view  toy.sum(x) → f32[]
//   toy.spread(s; elements)  toy.assign(state, x): update  toy.same(x): identity
#pragma once

#include <cuda_runtime.h>

#include <map>
#include <string>
#include <vector>

#include "engine/runtime/executable.h"

namespace lathe::toy {

Value add(Graph& graph, Value a, Value b);
Value multiply(Graph& graph, Value a, Value b);
Value relu(Graph& graph, Value x);
Value sum(Graph& graph, Value x);

struct RunOptions {
  bool poison = false;
  int runs = 1;
};

// Runs the graph on f32 inputs; every output by its name. The state keeps what the graph updates.
std::map<std::string, std::vector<float>> run(const Graph& graph, const Options& options,
                                              const std::map<std::string, std::vector<float>>& inputs,
                                              State& state, const RunOptions& how = {});
std::map<std::string, std::vector<float>> run(const Graph& graph, const Options& options,
                                              const std::map<std::string, std::vector<float>>& inputs,
                                              const RunOptions& how = {});

}  // namespace lathe::toy
