// What every layer test uses: tensors on the host, running one operation through one implementation on device
// buffers with guard cells, comparing implementations, and checking gradient rules by finite differences.
//
//   Tensor x = random({DType::f32, {2, 16, 7, 7}}, 1);
//   expect_close(run("relu", "handwritten", {x})[0], {…});
//   expect_agree("relu", {x});                     every kind against the reference, in every layout
//   check_gradient("relu", {x}, {}, {true});
//
// In the cuda build there is no reference; expect_agree and check_gradient do nothing there.
#pragma once

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "engine/graph/operation.h"

namespace lathe::testing {

// Values in N,C,H,W order whatever type.layout says (run() places them), as double whatever the dtype.
struct Tensor {
  Type type;
  std::vector<double> values;
};
Tensor tensor(Shape shape, std::vector<double> values, DType dtype = DType::f32);
Tensor filled(Shape shape, double value, DType dtype = DType::f32);
Tensor scalar(double value, DType dtype = DType::f32);
// Uniform in [low, high), rounded to f32; a seed always gives the same values.
Tensor random(Shape shape, uint64_t seed, double low = -1, double high = 1);
// A shuffled arithmetic sequence centred on 0 (and never 0), `gap` apart: keeps finite differences off the
// kinks of relu and max.
Tensor spaced(Shape shape, uint64_t seed, double gap = 0.05);
// Uniform integers in [low, high).
Tensor integers(Shape shape, uint64_t seed, int64_t low, int64_t high, DType dtype = DType::i32);
Tensor in_layout(Tensor tensor, Layout layout);

// The call as a graph would make it: types of the outputs by the shape rule.
Call call_for(const std::string& operation, const std::vector<Tensor>& inputs,
              const Attributes& attributes = {});

// Runs an operation and gives its outputs. Along the way it expects: guard cells on both sides of every
// operand and of the workspace untouched; inputs unchanged unless updated; a second run and, where an output
// may reuse an input's buffer, an in-place run bitwise equal to the first. Buffers are 256-byte aligned, as
// in the arena, but moved by `offset` elements. Throws std::logic_error where the kind is missing or refuses.
// A view is computed by copying.
std::vector<Tensor> run(const std::string& operation, const std::string& kind,
                        const std::vector<Tensor>& inputs, const Attributes& attributes = {},
                        int64_t offset = 0);
// The same for a call whose output types (layouts) differ from what the shape rule gives.
std::vector<Tensor> run(const std::string& operation, const std::string& kind, const Call& call,
                        const std::vector<Tensor>& inputs, int64_t offset = 0, const Options& options = {});

// |actual − expected| ≤ absolute + relative·|expected|, NaN matching NaN and infinities their equals.
// Reports the worst element. Types must agree but for the layout.
void expect_close(const Tensor& actual, const Tensor& expected, double relative = 1e-5,
                  double absolute = 1e-6, const std::string& what = "");
// All elements the same, NaN matching NaN, −0 unlike 0.
void expect_same(const Tensor& actual, const Tensor& expected, const std::string& what = "");

struct Tolerance {
  double relative = 1e-5, absolute = 1e-6;
};
// Every implementation that supports the call against the reference; 4-D operands that the layout rules allow
// to vary are tried in every layout into which their channels fit. Expects that the handwritten one exists
// and supports row-major f32.
void expect_agree(const std::string& operation, const std::vector<Tensor>& inputs,
                  const Attributes& attributes = {}, Tolerance tolerance = {});

// The gradient rule against central differences of the reference: d(Σ r·outputs)/d(input) for random r, for
// every input with wanted[i]. Outputs without an entry in `differentiable` (default: all f32 outputs) get no
// gradient.
struct GradientCheck {
  double step = 1e-2;
  Tolerance tolerance = {2e-3, 2e-3};
  std::vector<bool> differentiable = {};
};
void check_gradient(const std::string& operation, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<bool>& wanted,
                    const GradientCheck& check = {});

// The values of `wanted` in a graph, given those of its inputs and states (in order of creation), one node
// after another by `kind` (where there is none of that kind: by any).
std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                             const std::vector<Value>& wanted, const std::string& kind = "reference");

// Expects Error(usage) whose message contains `part` from the operation's shape rule.
void expect_refused(const std::string& operation, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::string& part);

}  // namespace lathe::testing
