// What the layers that call oneDNN share: the engine, descriptors of our types, and what makes a
// oneDNN primitive a step of a stream whose temporaries lie in the planned workspace.
#pragma once

#include <oneapi/dnnl/dnnl.hpp>

#include <functional>
#include <string>
#include <vector>

#include "engine/graph/operation.h"

namespace lathe::onednn {

const dnnl::engine& engine();

dnnl::memory::data_type data_type(DType dtype);  // std::logic_error for i64, which oneDNN lacks
// A type as oneDNN sees it: 4-D in its layout, any other rank (1 to 6) row-major.
dnnl::memory::desc descriptor(const Type& type);
// The same extents in whatever format a primitive likes best.
dnnl::memory::desc any_format(const dnnl::memory::desc& descriptor);
// For every primitive descriptor: the scratchpad is ours (as_step), not oneDNN's own hidden memory.
dnnl::primitive_attr user_scratchpad();

// One operand of a primitive. Where the two formats differ, the step reorders it through the workspace.
struct Operand {
  int argument;               // DNNL_ARG_*
  dnnl::memory::desc tensor;  // as the node's tensor lies in memory
  dnnl::memory::desc wanted;  // as the primitive wants it
};

// One primitive as a node: inputs[i] and outputs[i] are the node's. Everything is created in prepare and
// bind, a step only executes. The workspace holds the reordered operands and the scratchpad.
Prepared as_step(const dnnl::primitive& primitive, const dnnl::memory::desc& scratchpad,
                 const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
                 const std::string& detail);

// Calls `make` and turns a dnnl::error into Error(failure) "<call.name>: oneDNN: <its message>".
Prepared guarded(const Call& call, const std::function<Prepared()>& make);

}  // namespace lathe::onednn
