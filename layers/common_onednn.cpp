// The helpers of layers/onednn.h. The name ends in _onednn so that only the host build compiles it.
#include <algorithm>
#include <iterator>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "engine/runtime/error.h"
#include "engine/runtime/host_step.h"
#include "layers/onednn.h"

namespace lathe::onednn {
namespace {

using dnnl::memory;
using Tag = memory::format_tag;

constexpr int64_t kAlignment = 256;  // bytes; covers a cache line and every vector width

Tag format(const Type& type) {
  constexpr Tag kRowMajor[] = {Tag::a, Tag::ab, Tag::abc, Tag::abcd, Tag::abcde, Tag::abcdef};
  switch (type.layout) {
    case Layout::nchw:
      return kRowMajor[type.shape.rank() - 1];
    case Layout::nhwc:
      return Tag::nhwc;
    case Layout::nchw8c:
      return Tag::nChw8c;
    case Layout::nchw16c:
      return Tag::nChw16c;
  }
  throw std::logic_error("oneDNN: unknown layout");
}

// An operand, or a temporary in the workspace.
struct Place {
  enum Kind { input, output, workspace } kind;
  int64_t position;  // index of the operand, or byte offset
  memory::desc descriptor;
};

struct Work {
  dnnl::primitive primitive;
  std::vector<std::pair<int, Place>> arguments;  // by DNNL_ARG_*
};

// The primitives of one step in their order.
struct Program {
  std::vector<Work> works;
  int64_t workspace_bytes = 0;

  Place reserve(const memory::desc& descriptor) {
    int64_t offset = workspace_bytes, bytes = static_cast<int64_t>(descriptor.get_size());
    workspace_bytes += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return {Place::workspace, offset, descriptor};
  }
};

Work reorder(Program& program, const Place& from, const Place& to) {
  dnnl::reorder::primitive_desc plan(engine(), from.descriptor, engine(), to.descriptor, user_scratchpad());
  Place scratchpad = program.reserve(plan.scratchpad_desc());
  return {dnnl::reorder(plan), {{DNNL_ARG_FROM, from}, {DNNL_ARG_TO, to}, {DNNL_ARG_SCRATCHPAD, scratchpad}}};
}

void* address(const Place& place, const Bindings& bindings) {
  switch (place.kind) {
    case Place::input:
      return const_cast<void*>(bindings.inputs.at(place.position));  // oneDNN only reads it
    case Place::output:
      return bindings.outputs.at(place.position);
    case Place::workspace:
      return static_cast<char*>(bindings.workspace) + place.position;
  }
  throw std::logic_error("oneDNN: unknown place");
}

// Memory objects are made here, without touching the bytes: oneDNN zeroes the padding of blocked formats when
// a primitive writes them.
Enqueue bind(const Program& program, const Bindings& bindings) {
  struct Execution {
    dnnl::primitive primitive;
    std::unordered_map<int, memory> arguments;
  };
  std::vector<Execution> executions;
  for (const Work& work : program.works) {
    Execution execution{work.primitive, {}};
    for (const auto& [argument, place] : work.arguments) {
      if (place.descriptor.get_size() == 0) continue;  // no scratchpad wanted
      execution.arguments[argument] = memory(place.descriptor, engine(), address(place, bindings));
    }
    executions.push_back(std::move(execution));
  }
  // A oneDNN stream on the CPU runs on the calling thread: here the CUDA stream's.
  return host_step([executions = std::move(executions), stream = dnnl::stream(engine())]() mutable {
    for (const Execution& execution : executions) execution.primitive.execute(stream, execution.arguments);
    stream.wait();
  });
}

}  // namespace

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

memory::data_type data_type(DType dtype) {
  switch (dtype) {
    case DType::f32:
      return memory::data_type::f32;
    case DType::f16:
      return memory::data_type::f16;
    case DType::bf16:
      return memory::data_type::bf16;
    case DType::u8:
      return memory::data_type::u8;
    case DType::i32:
      return memory::data_type::s32;
    case DType::i64:
      break;
  }
  throw std::logic_error("oneDNN has no data type for " + to_string(dtype));
}

memory::desc descriptor(const Type& type) {
  int64_t rank = type.shape.rank();
  if (rank < 1 || rank > 6) throw std::logic_error("oneDNN: no descriptor for " + to_string(type));
  return memory::desc(type.shape.dims(), data_type(type.dtype), format(type));
}

memory::desc any_format(const memory::desc& descriptor) {
  return memory::desc(descriptor.dims(), descriptor.data_type(), Tag::any);
}

dnnl::primitive_attr user_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

Prepared as_step(const dnnl::primitive& primitive, const memory::desc& scratchpad,
                 const std::vector<Operand>& inputs, const std::vector<Operand>& outputs,
                 const std::string& detail) {
  Program program;
  Work work{primitive, {}};
  std::vector<Work> afterwards;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Operand& operand = inputs[i];
    Place tensor{Place::input, static_cast<int64_t>(i), operand.tensor}, used = tensor;
    if (operand.wanted != operand.tensor) {
      used = program.reserve(operand.wanted);
      program.works.push_back(reorder(program, tensor, used));
    }
    work.arguments.emplace_back(operand.argument, used);
  }
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Operand& operand = outputs[i];
    Place tensor{Place::output, static_cast<int64_t>(i), operand.tensor}, used = tensor;
    if (operand.wanted != operand.tensor) {
      used = program.reserve(operand.wanted);
      afterwards.push_back(reorder(program, used, tensor));
    }
    work.arguments.emplace_back(operand.argument, used);
  }
  work.arguments.emplace_back(DNNL_ARG_SCRATCHPAD, program.reserve(scratchpad));
  program.works.push_back(std::move(work));
  std::move(afterwards.begin(), afterwards.end(), std::back_inserter(program.works));
  return {[program](const Bindings& bindings) { return bind(program, bindings); }, program.workspace_bytes,
          detail};
}

Prepared guarded(const Call& call, const std::function<Prepared()>& make) {
  try {
    return make();
  } catch (const dnnl::error& error) {
    throw Error(ExitCode::failure, call.name + ": oneDNN: " + error.what());
  }
}

}  // namespace lathe::onednn
