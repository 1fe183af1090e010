#include "toy_operations.h"

#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"

namespace lathe::toy {
namespace {

std::string always(const Call&) { return ""; }

template <typename Body>
Implementation reference(Body body) {
  return {"reference", always, [body](const Call& call, const Options&) {
            return Prepared{[body, call](const Bindings& b) { return host_step([=] { body(call, b); }); }};
          }};
}

struct Binary : Operation {
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
};

struct Add final : Binary {
  std::string_view name() const override { return "toy.add"; }
  std::vector<Value> gradient(Graph&, const Node&, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {dy[0], dy[0]};
  }
};

struct Multiply final : Binary {
  std::string_view name() const override { return "toy.multiply"; }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>& wanted) const override {
    Value a = wanted[0] ? multiply(graph, dy[0], node.inputs[1]) : Value{};
    Value b = wanted[1] ? multiply(graph, dy[0], node.inputs[0]) : Value{};
    return {a, b};
  }
};

struct Relu final : Operation {
  std::string_view name() const override { return "toy.relu"; }
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  Alias alias(const Call&, int) const override { return {Alias::reuse, 0}; }
};

struct Flat final : Operation {
  std::string_view name() const override { return "toy.flat"; }
  std::vector<Type> infer(const Call& call) const override {
    return {{call.inputs[0].dtype, {call.inputs[0].shape.elements()}}};
  }
  Alias alias(const Call&, int) const override { return {Alias::view, 0}; }
};

struct SumAll final : Operation {
  std::string_view name() const override { return "toy.sum"; }
  std::vector<Type> infer(const Call&) const override { return {{DType::f32, {}}}; }
  std::vector<Value> gradient(Graph& graph, const Node& node, const std::vector<Value>& dy,
                              const std::vector<bool>&) const override {
    return {graph.add1("toy.spread", {dy[0]}, {{"elements", graph.type(node.inputs[0]).shape.elements()}})};
  }
};

struct Spread final : Operation {
  std::string_view name() const override { return "toy.spread"; }
  std::vector<Type> infer(const Call& call) const override {
    return {{DType::f32, {call.attributes.integer("elements")}}};
  }
};

struct Assign final : Operation {
  std::string_view name() const override { return "toy.assign"; }
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  Alias alias(const Call&, int) const override { return {Alias::update, 0}; }
};

struct Same final : Operation {
  std::string_view name() const override { return "toy.same"; }
  std::vector<Type> infer(const Call& call) const override { return {call.inputs[0]}; }
  std::optional<int> identity(const Call&) const override { return 0; }
};

const Register<Add> add_operation;
const Register<Multiply> multiply_operation;
const Register<Relu> relu_operation;
const Register<Flat> flat_operation;
const Register<SumAll> sum_operation;
const Register<Spread> spread_operation;
const Register<Assign> assign_operation;
const Register<Same> same_operation;

int64_t length(const Call& call) { return call.outputs[0].shape.elements(); }

const RegisterImplementation add_reference("toy.add", reference([](const Call& c, const Bindings& b) {
                                             for (int64_t i = 0; i < length(c); ++i)
                                               b.out<float>(0)[i] = b.in<float>(0)[i] + b.in<float>(1)[i];
                                           }));
const RegisterImplementation multiply_reference("toy.multiply",
                                                reference([](const Call& c, const Bindings& b) {
                                                  for (int64_t i = 0; i < length(c); ++i)
                                                    b.out<float>(0)[i] =
                                                        b.in<float>(0)[i] * b.in<float>(1)[i];
                                                }));
const RegisterImplementation relu_reference("toy.relu", reference([](const Call& c, const Bindings& b) {
                                              for (int64_t i = 0; i < length(c); ++i)
                                                b.out<float>(0)[i] =
                                                    b.in<float>(0)[i] < 0 ? 0 : b.in<float>(0)[i];
                                            }));
const RegisterImplementation sum_reference("toy.sum", reference([](const Call& c, const Bindings& b) {
                                             float total = 0;
                                             for (int64_t i = 0; i < c.inputs[0].shape.elements(); ++i)
                                               total += b.in<float>(0)[i];
                                             b.out<float>(0)[0] = total;
                                           }));
const RegisterImplementation spread_reference("toy.spread", reference([](const Call& c, const Bindings& b) {
                                                for (int64_t i = 0; i < length(c); ++i)
                                                  b.out<float>(0)[i] = b.in<float>(0)[0];
                                              }));
const RegisterImplementation assign_reference("toy.assign", reference([](const Call& c, const Bindings& b) {
                                                for (int64_t i = 0; i < length(c); ++i)
                                                  b.out<float>(0)[i] = b.in<float>(1)[i];
                                              }));
const RegisterImplementation same_reference("toy.same", reference([](const Call& c, const Bindings& b) {
                                              for (int64_t i = 0; i < length(c); ++i)
                                                b.out<float>(0)[i] = b.in<float>(0)[i];
                                            }));

}  // namespace

Value add(Graph& graph, Value a, Value b) { return graph.add1("toy.add", {a, b}); }
Value multiply(Graph& graph, Value a, Value b) { return graph.add1("toy.multiply", {a, b}); }
Value relu(Graph& graph, Value x) { return graph.add1("toy.relu", {x}); }
Value sum(Graph& graph, Value x) { return graph.add1("toy.sum", {x}); }

std::map<std::string, std::vector<float>> run(const Graph& graph, const Options& options,
                                              const std::map<std::string, std::vector<float>>& inputs,
                                              State& state, const RunOptions& how) {
  Program program = compile(graph, options);
  Executable executable(program, state, std::make_shared<Arena>(), 1, how.poison);
  cudaStream_t stream = nullptr;
  check_cuda(cudaStreamCreate(&stream), "stream");
  for (const auto& [name, values] : inputs) {
    check_cuda(cudaMemcpyAsync(executable.input(0, name), values.data(), values.size() * sizeof(float),
                               cudaMemcpyHostToDevice, stream),
               name);
  }
  for (int i = 0; i < how.runs; ++i) executable.run(0, stream);
  std::map<std::string, std::vector<float>> outputs;
  for (const auto& [name, value] : graph.outputs()) {
    std::vector<float>& values = outputs[name];
    values.resize(static_cast<size_t>(graph.type(value).shape.elements()));
    check_cuda(cudaMemcpyAsync(values.data(), executable.output(0, name), values.size() * sizeof(float),
                               cudaMemcpyDeviceToHost, stream),
               name);
  }
  check_cuda(cudaStreamSynchronize(stream), "run");
  throw_host_step_error();
  cudaStreamDestroy(stream);
  return outputs;
}

std::map<std::string, std::vector<float>> run(const Graph& graph, const Options& options,
                                              const std::map<std::string, std::vector<float>>& inputs,
                                              const RunOptions& how) {
  State state;
  return run(graph, options, inputs, state, how);
}

}  // namespace lathe::toy
