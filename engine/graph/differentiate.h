// Reverse-mode differentiation: gradients are more nodes in the same graph.
#pragma once

#include <functional>
#include <vector>

#include "engine/graph/graph.h"

namespace lathe {

// Adds two gradients of one value; the engine knows no operation by name, so the caller gives it.
using Sum = std::function<Value(Graph&, Value, Value)>;

// Adds the nodes that compute d(loss)/d(target) for every target; `loss_gradient` is d(objective)/d(loss)
// and has the loss's type. Work is added only on paths from a target to the loss. A target that the loss
// does not depend on gets an invalid Value. Contributions are summed in the order of the nodes.
std::vector<Value> differentiate(Graph& graph, Value loss, Value loss_gradient,
                                 const std::vector<Value>& targets, const Sum& sum);

}  // namespace lathe
