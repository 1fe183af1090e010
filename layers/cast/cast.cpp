// Cast to another element type: f32, f16 and bf16 among each other (round to nearest even, NaN stays NaN,
// overflow becomes infinity), and u8 to f32.
#include "layers/layer.h"

namespace lathe {
namespace {

DType parse(const Call& call) {
  const std::string& text = call.attributes.text("dtype");
  for (DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    if (text == to_string(dtype)) return dtype;
  }
  throw Error(ExitCode::usage, call.name + ": cannot cast to '" + text + "'; f32, f16 and bf16 are possible");
}

// input: x   output: y.  Attribute: dtype text.
struct Cast final : Operation {
  std::string_view name() const override { return "cast"; }
  std::vector<Type> infer(const Call& call) const override {
    Type type = call.inputs[0];
    DType to = parse(call);
    bool real = type.dtype == DType::f32 || type.dtype == DType::f16 || type.dtype == DType::bf16;
    require(real || (type.dtype == DType::u8 && to == DType::f32), call,
            "cannot cast " + to_string(type) + " to " + to_string(to));
    type.dtype = to;
    return {type};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    DType from = graph.type(node.inputs[0]).dtype;
    if (from == DType::u8) return {Value{}};
    return {graph.add1("cast", {dy[0]}, {{"dtype", to_string(from)}}, node.name)};
  }
  std::optional<int> identity(const Call& call) const override {
    return call.inputs[0] == call.outputs[0] ? std::optional(0) : std::nullopt;
  }
  LayoutRule input_layout(const Call&, int) const override { return LayoutRule::tied; }
  LayoutRule output_layout(const Call&, int) const override { return LayoutRule::tied; }
};

const Register<Cast> cast;

}  // namespace
}  // namespace lathe
