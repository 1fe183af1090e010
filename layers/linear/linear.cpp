// Fully connected layer without bias:  y[n,m] = Σ_k x[n,k] · w[m,k].
//   linear        x [N,K], w [M,K]  → y [N,M]
//   linear_dgrad  dy [N,M], w [M,K] → dx [N,K]
//   linear_wgrad  x [N,K], dy [N,M] → dw [M,K]
#include <fmt/format.h>

#include <cmath>

#include "layers/layer.h"

namespace lathe {
namespace {

void require_matrix(const Call& call, const char* operand, const Type& type) {
  require(type.shape.rank() == 2 && type.shape.elements() > 0, call,
          fmt::format("{} is {}, must be a matrix with no empty extent", operand, to_string(type)));
}

// What the three share. Each has two matrices as inputs, in any case with N·K·M multiply-adds.
struct MatrixProduct : Operation {
  Cost cost(const Call& call) const final {
    const Shape &a = call.inputs[0].shape, &b = call.inputs[1].shape, &c = call.outputs[0].shape;
    double n_k_m = std::sqrt(static_cast<double>(a.elements()) * static_cast<double>(b.elements()) *
                             static_cast<double>(c.elements()));  // each extent appears in two of the three
    return {2 * n_k_m, Operation::cost(call).bytes};
  }
};

struct Linear final : MatrixProduct {
  std::string_view name() const override { return "linear"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &x = call.inputs.at(0), &w = call.inputs.at(1);
    require_matrix(call, "x", x);
    require_matrix(call, "w", w);
    require(w.shape[1] == x.shape[1], call,
            fmt::format("weights {} take {} inputs, the input is {}", to_string(w.shape), w.shape[1],
                        to_string(x.shape)));
    return {{x.dtype, {x.shape[0], w.shape[0]}}};
  }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    Value x = node.inputs[0], w = node.inputs[1];
    std::vector<Value> gradients(2);
    if (wanted[0]) gradients[0] = graph.add1("linear_dgrad", {dy[0], w}, {}, node.name);
    if (wanted[1]) gradients[1] = graph.add1("linear_wgrad", {x, dy[0]}, {}, node.name);
    return gradients;
  }
};

struct LinearDgrad final : MatrixProduct {
  std::string_view name() const override { return "linear_dgrad"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &dy = call.inputs.at(0), &w = call.inputs.at(1);
    require_matrix(call, "dy", dy);
    require_matrix(call, "w", w);
    require(dy.shape[1] == w.shape[0], call,
            fmt::format("dy is {}, the weights {} give {} outputs", to_string(dy.shape), to_string(w.shape),
                        w.shape[0]));
    return {{dy.dtype, {dy.shape[0], w.shape[1]}}};
  }
};

struct LinearWgrad final : MatrixProduct {
  std::string_view name() const override { return "linear_wgrad"; }
  std::vector<Type> infer(const Call& call) const override {
    const Type &x = call.inputs.at(0), &dy = call.inputs.at(1);
    require_matrix(call, "x", x);
    require_matrix(call, "dy", dy);
    require(
        x.shape[0] == dy.shape[0], call,
        fmt::format("x is {} but dy is {}: different batch sizes", to_string(x.shape), to_string(dy.shape)));
    return {{x.dtype, {dy.shape[1], x.shape[1]}}};
  }
};

const Register<Linear> linear;
const Register<LinearDgrad> linear_dgrad;
const Register<LinearWgrad> linear_wgrad;

}  // namespace
}  // namespace lathe
