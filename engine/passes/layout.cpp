#include <fmt/format.h>

#include <map>

#include "engine/graph/operation.h"
#include "engine/passes/passes.h"
#include "engine/runtime/select.h"

namespace lathe {
namespace {

int64_t block_of(Layout layout) {
  if (layout == Layout::nchw8c) return 8;
  return layout == Layout::nchw16c ? 16 : 1;
}

bool can_be(const Type& type, Layout layout) {
  return type.shape.rank() == 4 && type.shape[1] % block_of(layout) == 0;
}

class Propagation {
 public:
  Propagation(const Graph& graph, Layout native, const Options& options)
      : old_(graph), native_(native), options_(options), mapped_(graph.value_count()) {}

  PassResult run() {
    for (int id = 0; id < old_.value_count(); ++id) {
      if (old_.info({id}).storage == Storage::input) map_value({id});
    }
    for (int id = 0; id < old_.node_count(); ++id) convert(old_.node(id));
    for (const auto& [name, value] : old_.outputs()) {
      Value mapped = map_value(value);
      result_.output(name, in_layout(mapped, old_.type(value).layout));
    }
    return {std::move(result_), fmt::format("layout: {} of {} nodes in {}, {} layout changes", native_nodes_,
                                            old_.node_count(), to_string(native_), changes_)};
  }

 private:
  Value map_value(Value old) {
    Value& mapped = mapped_[old.id];
    if (mapped) return mapped;
    const ValueInfo& info = old_.info(old);
    if (info.storage == Storage::input) mapped = result_.input(info.name, info.type);
    if (info.storage == Storage::state) mapped = result_.state(info.name, info.type);
    if (info.storage == Storage::constant) mapped = result_.constant(info.type, info.fill);
    return mapped;
  }

  // The value in a layout; one layout_change serves all readers.
  Value in_layout(Value value, Layout layout) {
    if (result_.type(value).layout == layout) return value;
    auto key = std::make_pair(value.id, layout);
    auto found = changed_.find(key);
    if (found != changed_.end()) return found->second;
    ++changes_;
    Value changed =
        result_.add1("layout_change", {value}, {{"layout", to_string(layout)}}, result_.info(value).name);
    return changed_[key] = changed;
  }

  // The call with tied operands in `layout`, free ones as they come, and the rest row-major.
  Call call_in(const Node& node, Layout layout, bool keep_free) {
    Call call = call_of(old_, node);
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      LayoutRule rule = node.operation->input_layout(call, static_cast<int>(i));
      if (call.inputs[i].shape.rank() != 4) continue;
      if (rule == LayoutRule::tied) call.inputs[i].layout = layout;
      if (rule == LayoutRule::free && keep_free)
        call.inputs[i].layout = result_.type(map_value(node.inputs[i])).layout;
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      bool row_major = node.operation->output_layout(call, static_cast<int>(i)) == LayoutRule::row_major;
      if (!row_major && call.outputs[i].shape.rank() == 4) call.outputs[i].layout = layout;
    }
    return call;
  }

  bool supported(const Node& node, const Call& call) const {
    return select_implementation(*node.operation, call, options_).implementation != nullptr;
  }

  // No layout takes a node from the implementation that the options ask for.
  bool native_as_asked(const Node& node, const Call& call) {
    Selection native = select_implementation(*node.operation, call, options_);
    if (native.implementation == nullptr || native.reason.empty()) return native.implementation != nullptr;
    Selection row_major =
        select_implementation(*node.operation, call_in(node, Layout::nchw, false), options_);
    return row_major.implementation == nullptr || !row_major.reason.empty();
  }

  // Native wins where every tied operand can have it and either some tied input already does, or the
  // operation has no tied input (a convolution: it starts a native region from whatever it is given).
  bool wants_native(const Node& node) {
    Call call = call_of(old_, node);
    bool tied_input = false, native_input = false, tied_output = false, able = true;
    for (size_t i = 0; i < call.inputs.size(); ++i) {
      if (node.operation->input_layout(call, static_cast<int>(i)) != LayoutRule::tied) continue;
      if (call.inputs[i].shape.rank() != 4) continue;
      tied_input = true;
      native_input = native_input || result_.type(map_value(node.inputs[i])).layout == native_;
      able = able && can_be(call.inputs[i], native_);
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      if (node.operation->output_layout(call, static_cast<int>(i)) == LayoutRule::row_major) continue;
      if (call.outputs[i].shape.rank() != 4) continue;
      tied_output = true;
      able = able && can_be(call.outputs[i], native_);
    }
    return able && (native_input || (!tied_input && tied_output));
  }

  void convert(const Node& node) {
    Call call;
    bool native = wants_native(node);
    if (native) {
      call = call_in(node, native_, true);
      native = native_as_asked(node, call);
    }
    if (!native) {
      call = call_in(node, Layout::nchw, true);
      if (!supported(node, call)) call = call_in(node, Layout::nchw, false);
    }
    native_nodes_ += native ? 1 : 0;
    result_.phase = node.phase;
    std::vector<Value> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(in_layout(map_value(node.inputs[i]), call.inputs[i].layout));
    }
    std::vector<Value> outputs = result_.add(*node.operation, inputs, node.attributes, node.name);
    for (size_t i = 0; i < outputs.size(); ++i) {
      result_.info(outputs[i]).type = call.outputs[i];
      mapped_[node.outputs[i].id] = outputs[i];
    }
  }

  const Graph& old_;
  Layout native_;
  const Options& options_;
  Graph result_;
  std::vector<Value> mapped_;
  std::map<std::pair<int, Layout>, Value> changed_;
  int native_nodes_ = 0, changes_ = 0;
};

}  // namespace

PassResult propagate_layout(const Graph& graph, Layout native, const Options& options) {
  return Propagation(graph, native, options).run();
}

}  // namespace lathe
