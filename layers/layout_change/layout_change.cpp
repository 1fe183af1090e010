// Change of layout: the same N,C,H,W tensor in another order of memory.
#include "layers/layer.h"

namespace lathe {
namespace {

Layout parse(const Call& call) {
  const std::string& text = call.attributes.text("layout");
  for (Layout layout : {Layout::nchw, Layout::nhwc, Layout::nchw8c, Layout::nchw16c}) {
    if (text == to_string(layout)) return layout;
  }
  throw Error(ExitCode::usage,
              call.name + ": there is no layout '" + text + "'; nchw, nhwc, nchw8c and nchw16c are");
}

// input: x [N, C, H, W]   output: y.  Attribute: layout text.
struct LayoutChange final : Operation {
  std::string_view name() const override { return "layout_change"; }
  std::vector<Type> infer(const Call& call) const override {
    Type type = call.inputs[0];
    require(type.shape.rank() == 4, call, "only N,C,H,W tensors have layouts, x is " + to_string(type));
    type.layout = parse(call);
    int64_t block = type.layout == Layout::nchw8c ? 8 : type.layout == Layout::nchw16c ? 16 : 1;
    require(type.shape[1] % block == 0, call,
            to_string(type) + ": the channels are no multiple of " + std::to_string(block));
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    Attributes attributes{{"layout", to_string(graph.type(node.inputs[0]).layout)}};
    return {graph.add1("layout_change", {dy[0]}, attributes, node.name)};
  }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0] == call.outputs[0] ? std::optional(0) : std::nullopt;
  }
  // With one position every layout is [N, C].
  Alias alias(const Call& call, int) const override {
    const Shape& shape = call.inputs[0].shape;
    bool same_bytes = call.inputs[0] == call.outputs[0] || (shape[2] == 1 && shape[3] == 1);
    return same_bytes ? Alias{Alias::view, 0} : Alias{};
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::free; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::free; }
};

const Register<LayoutChange> layout_change;

}  // namespace
}  // namespace lathe
