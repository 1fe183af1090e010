#include "tests/layers/harness.h"

#include <fmt/format.h>

#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <random>
#include <stdexcept>

#include "engine/runtime/cuda_check.h"
#include "engine/runtime/error.h"
#include "engine/runtime/host_step.h"

namespace lathe::testing {
namespace {

using Bytes = std::vector<std::byte>;

// Where element i (in N,C,H,W order) lies.
int64_t place(const Type& type, int64_t i) {
  if (type.layout == Layout::nchw || type.shape.rank() != 4) return i;
  ChannelView view = channel_view(type);
  int64_t s = i % view.spatial, c = i / view.spatial % view.channels(),
          n = i / view.spatial / view.channels();
  return ((n * view.channel_blocks + c / view.block) * view.spatial + s) * view.block + c % view.block;
}

template <typename T>
void store(Bytes& bytes, int64_t at, T value) {
  std::memcpy(bytes.data() + at * static_cast<int64_t>(sizeof(T)), &value, sizeof(T));
}
template <typename T>
T load(const Bytes& bytes, int64_t at) {
  T value;
  std::memcpy(&value, bytes.data() + at * static_cast<int64_t>(sizeof(T)), sizeof(T));
  return value;
}

Bytes encode(const Tensor& tensor) {
  Bytes bytes(tensor.type.bytes());
  for (int64_t i = 0; i < static_cast<int64_t>(tensor.values.size()); ++i) {
    int64_t at = place(tensor.type, i);
    double value = tensor.values[i];
    switch (tensor.type.dtype) {
      case DType::f32:
        store(bytes, at, static_cast<float>(value));
        break;
      case DType::f16:
        store(bytes, at, Eigen::half(static_cast<float>(value)));
        break;
      case DType::bf16:
        store(bytes, at, Eigen::bfloat16(static_cast<float>(value)));
        break;
      case DType::u8:
        store(bytes, at, static_cast<uint8_t>(value));
        break;
      case DType::i32:
        store(bytes, at, static_cast<int32_t>(value));
        break;
      case DType::i64:
        store(bytes, at, static_cast<int64_t>(value));
        break;
    }
  }
  return bytes;
}

Tensor decode(const Type& type, const Bytes& bytes) {
  Tensor tensor{type, std::vector<double>(type.shape.elements())};
  for (int64_t i = 0; i < static_cast<int64_t>(tensor.values.size()); ++i) {
    int64_t at = place(type, i);
    switch (type.dtype) {
      case DType::f32:
        tensor.values[i] = load<float>(bytes, at);
        break;
      case DType::f16:
        tensor.values[i] = static_cast<float>(load<Eigen::half>(bytes, at));
        break;
      case DType::bf16:
        tensor.values[i] = static_cast<float>(load<Eigen::bfloat16>(bytes, at));
        break;
      case DType::u8:
        tensor.values[i] = load<uint8_t>(bytes, at);
        break;
      case DType::i32:
        tensor.values[i] = load<int32_t>(bytes, at);
        break;
      case DType::i64:
        tensor.values[i] = static_cast<double>(load<int64_t>(bytes, at));
        break;
    }
  }
  return tensor;
}

// Device memory between two guards of 0xFF bytes, which are NaN as floats.
class GuardedBuffer {
 public:
  GuardedBuffer(int64_t bytes, int64_t shift)
      : bytes_(bytes), begin_(kGuard + shift), image_(bytes + 2 * kGuard + shift) {
    check_cuda(cudaMalloc(&data_, image_.size()), "cudaMalloc");
    clear();
  }
  ~GuardedBuffer() { cudaFree(data_); }
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  std::byte* data() const { return static_cast<std::byte*>(data_) + begin_; }
  void clear() { check_cuda(cudaMemset(data_, 0xFF, image_.size()), "cudaMemset"); }
  void upload(const Bytes& bytes) {
    check_cuda(cudaMemcpy(data(), bytes.data(), bytes.size(), cudaMemcpyHostToDevice), "cudaMemcpy");
  }
  Bytes download() const {
    Bytes bytes(bytes_);
    check_cuda(cudaMemcpy(bytes.data(), data(), bytes.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    return bytes;
  }
  bool guards_hold() {
    check_cuda(cudaMemcpy(image_.data(), data_, image_.size(), cudaMemcpyDeviceToHost), "cudaMemcpy");
    auto intact = [](std::byte b) { return b == std::byte{0xFF}; };
    return std::all_of(image_.begin(), image_.begin() + begin_, intact) &&
           std::all_of(image_.begin() + begin_ + bytes_, image_.end(), intact);
  }

 private:
  static constexpr int64_t kGuard = 256;
  int64_t bytes_, begin_;
  Bytes image_;
  void* data_ = nullptr;
};

cudaStream_t test_stream() {
  static cudaStream_t stream = [] {
    cudaStream_t created;
    check_cuda(cudaStreamCreate(&created), "cudaStreamCreate");
    return created;
  }();
  return stream;
}

// One binding of a prepared call to buffers; every run() starts from fresh contents.
class Attempt {
 public:
  Attempt(const Operation& operation, const Call& call, const Prepared& prepared,
          const std::vector<Tensor>& inputs, int64_t offset, bool in_place)
      : call_(call), workspace_(prepared.workspace_bytes, 0) {
    Bindings bindings;
    for (const Tensor& input : inputs) {
      contents_.push_back(encode(input));
      inputs_.push_back(
          std::make_unique<GuardedBuffer>(input.type.bytes(), offset * size_of(input.type.dtype)));
      bindings.inputs.push_back(inputs_.back()->data());
      overwritten_.push_back(false);
    }
    for (size_t i = 0; i < call.outputs.size(); ++i) {
      Alias alias = operation.alias(call, static_cast<int>(i));
      int shared = alias.kind == Alias::update || (in_place && alias.kind == Alias::reuse) ? alias.input : -1;
      const Type& type = call.outputs[i];
      if (shared < 0) {
        own_.push_back(std::make_unique<GuardedBuffer>(type.bytes(), offset * size_of(type.dtype)));
        outputs_.push_back(own_.back().get());
      } else {
        EXPECT_EQ(type.bytes(), call.inputs.at(shared).bytes())
            << "output " << i << " cannot share its input's buffer";
        overwritten_.at(shared) = true;
        outputs_.push_back(inputs_.at(shared).get());
      }
      bindings.outputs.push_back(outputs_.back()->data());
    }
    bindings.workspace = workspace_.data();
    enqueue_ = prepared.bind(bindings);
  }

  std::vector<Bytes> run() {
    workspace_.clear();
    for (auto& buffer : own_) buffer->clear();
    for (size_t i = 0; i < inputs_.size(); ++i) inputs_[i]->upload(contents_[i]);
    enqueue_(test_stream());
    check_cuda(cudaStreamSynchronize(test_stream()), "cudaStreamSynchronize");
    throw_host_step_error();
    for (size_t i = 0; i < inputs_.size(); ++i) {
      EXPECT_TRUE(inputs_[i]->guards_hold())
          << "wrote outside input " << i << ", " << to_string(call_.inputs[i]);
      EXPECT_TRUE(overwritten_[i] || inputs_[i]->download() == contents_[i]) << "changed input " << i;
    }
    for (auto& buffer : own_) EXPECT_TRUE(buffer->guards_hold()) << "wrote outside an output";
    EXPECT_TRUE(workspace_.guards_hold()) << "wrote outside the workspace";
    std::vector<Bytes> results;
    for (GuardedBuffer* output : outputs_) results.push_back(output->download());
    return results;
  }

 private:
  const Call& call_;
  GuardedBuffer workspace_;
  std::vector<Bytes> contents_;
  std::vector<std::unique_ptr<GuardedBuffer>> inputs_, own_;
  std::vector<bool> overwritten_;
  std::vector<GuardedBuffer*> outputs_;
  Enqueue enqueue_;
};

bool any_alias(const Operation& operation, const Call& call, Alias::Kind kind) {
  for (size_t i = 0; i < call.outputs.size(); ++i) {
    if (operation.alias(call, static_cast<int>(i)).kind == kind) return true;
  }
  return false;
}

bool has_reference(const std::string& operation) {
  return Registry::instance().find(operation, "reference") != nullptr;
}

bool same(double a, double b) {
  return std::isnan(a) ? std::isnan(b) : a == b && std::signbit(a) == std::signbit(b);
}

// The inputs in `layout` where the operation lets them vary; nothing where a channel count does not fit.
std::optional<std::vector<Tensor>> relayout(const Operation& operation, const std::vector<Tensor>& inputs,
                                            const Attributes& attributes, Layout layout) {
  Call call{{}, {}, attributes, std::string(operation.name())};
  for (const Tensor& input : inputs) call.inputs.push_back(input.type);
  std::vector<Tensor> result;
  bool any = layout == Layout::nchw;
  int64_t block = layout == Layout::nchw8c ? 8 : layout == Layout::nchw16c ? 16 : 1;
  for (size_t i = 0; i < inputs.size(); ++i) {
    bool varies = inputs[i].type.shape.rank() == 4 &&
                  operation.input_layout(call, static_cast<int>(i)) != LayoutRule::row_major;
    if (varies && inputs[i].type.shape[1] % block != 0) return std::nullopt;
    any = any || varies;
    result.push_back(varies ? in_layout(inputs[i], layout) : inputs[i]);
  }
  if (!any) return std::nullopt;
  return result;
}

}  // namespace

Tensor tensor(Shape shape, std::vector<double> values, DType dtype) {
  if (shape.elements() != static_cast<int64_t>(values.size()))
    throw std::logic_error("tensor: " + to_string(shape));
  return {{dtype, std::move(shape)}, std::move(values)};
}
Tensor filled(Shape shape, double value, DType dtype) {
  int64_t n = shape.elements();
  return tensor(std::move(shape), std::vector<double>(n, value), dtype);
}
Tensor scalar(double value, DType dtype) { return tensor({}, {value}, dtype); }

Tensor random(Shape shape, uint64_t seed, double low, double high) {
  std::mt19937_64 generator(seed);
  Tensor result = filled(std::move(shape), 0);
  for (double& value : result.values) {
    double unit = static_cast<double>(generator() >> 11) * 0x1p-53;
    value = static_cast<float>(low + unit * (high - low));
  }
  return result;
}

Tensor spaced(Shape shape, uint64_t seed, double gap) {
  Tensor result = filled(std::move(shape), 0);
  double centre = static_cast<double>(result.values.size() / 2) + 0.5;
  for (size_t i = 0; i < result.values.size(); ++i) {
    result.values[i] = static_cast<float>((static_cast<double>(i) - centre) * gap);
  }
  std::mt19937_64 generator(seed);
  std::shuffle(result.values.begin(), result.values.end(), generator);
  return result;
}

Tensor integers(Shape shape, uint64_t seed, int64_t low, int64_t high, DType dtype) {
  std::mt19937_64 generator(seed);
  Tensor result = filled(std::move(shape), 0, dtype);
  for (double& value : result.values) {
    value = static_cast<double>(low + static_cast<int64_t>(generator() % static_cast<uint64_t>(high - low)));
  }
  return result;
}

Tensor in_layout(Tensor tensor, Layout layout) {
  tensor.type.layout = layout;
  return tensor;
}

Call call_for(const std::string& operation, const std::vector<Tensor>& inputs, const Attributes& attributes) {
  Call call{{}, {}, attributes, operation};
  for (const Tensor& input : inputs) call.inputs.push_back(input.type);
  call.outputs = Registry::instance().operation(operation).infer(call);
  return call;
}

std::vector<Tensor> run(const std::string& operation, const std::string& kind,
                        const std::vector<Tensor>& inputs, const Attributes& attributes, int64_t offset) {
  return run(operation, kind, call_for(operation, inputs, attributes), inputs, offset);
}

std::vector<Tensor> run(const std::string& operation, const std::string& kind, const Call& call,
                        const std::vector<Tensor>& inputs, int64_t offset, const Options& options) {
  const Operation& op = Registry::instance().operation(operation);
  if (any_alias(op, call, Alias::view)) return {{call.outputs.at(0), inputs.at(0).values}};
  const Implementation* implementation = Registry::instance().find(operation, kind);
  if (implementation == nullptr) throw std::logic_error(operation + " has no implementation " + kind);
  std::string reason = implementation->supports(call);
  if (!reason.empty()) throw std::logic_error(fmt::format("{} {}: {}", kind, operation, reason));
  SCOPED_TRACE(fmt::format("{} {} {} of {}", kind, operation, to_string(call.attributes),
                           call.inputs.empty() ? "" : to_string(call.inputs[0])));

  Prepared prepared = implementation->prepare(call, options);
  Attempt attempt(op, call, prepared, inputs, offset, false);
  std::vector<Bytes> results = attempt.run();
  EXPECT_TRUE(attempt.run() == results) << "a second run differs";
  if (any_alias(op, call, Alias::reuse)) {
    bool equal = Attempt(op, call, prepared, inputs, offset, true).run() == results;
    EXPECT_TRUE(equal) << "the in-place run differs";
  }
  std::vector<Tensor> outputs;
  for (size_t i = 0; i < results.size(); ++i) outputs.push_back(decode(call.outputs[i], results[i]));
  return outputs;
}

void expect_close(const Tensor& actual, const Tensor& expected, double relative, double absolute,
                  const std::string& what) {
  ASSERT_EQ(actual.type.shape, expected.type.shape) << what;
  ASSERT_EQ(actual.type.dtype, expected.type.dtype) << what;
  double worst = -1;
  size_t at = 0;
  for (size_t i = 0; i < actual.values.size(); ++i) {
    double a = actual.values[i], e = expected.values[i];
    if (a == e || (std::isnan(a) && std::isnan(e))) continue;
    double excess = std::abs(a - e) / (absolute + relative * std::abs(e));
    if (!(excess <= worst)) worst = std::isfinite(excess) ? excess : HUGE_VAL, at = i;
  }
  EXPECT_LE(worst, 1) << what << ": element " << at << " of " << to_string(actual.type) << " is "
                      << actual.values[at] << ", expected " << expected.values[at];
}

void expect_same(const Tensor& actual, const Tensor& expected, const std::string& what) {
  ASSERT_EQ(actual.type.shape, expected.type.shape) << what;
  ASSERT_EQ(actual.type.dtype, expected.type.dtype) << what;
  for (size_t i = 0; i < actual.values.size(); ++i) {
    ASSERT_TRUE(same(actual.values[i], expected.values[i]))
        << what << ": element " << i << " of " << to_string(actual.type) << " is " << actual.values[i]
        << ", expected " << expected.values[i];
  }
}

void expect_agree(const std::string& operation, const std::vector<Tensor>& inputs,
                  const Attributes& attributes, Tolerance tolerance) {
  if (!has_reference(operation)) return;
  const Registry& registry = Registry::instance();
  const Operation& op = registry.operation(operation);
  for (Layout layout : {Layout::nchw, Layout::nhwc, Layout::nchw8c, Layout::nchw16c}) {
    auto arranged = relayout(op, inputs, attributes, layout);
    if (!arranged) continue;
    Call call = call_for(operation, *arranged, attributes);
    std::vector<Tensor> expected = run(operation, "reference", call, *arranged);
    for (const std::string& kind : registry.kinds(operation)) {
      std::string reason = registry.find(operation, kind)->supports(call);
      EXPECT_TRUE(kind != "handwritten" || layout != Layout::nchw || reason.empty())
          << operation << ": " << reason;
      if (kind == "reference" || !reason.empty()) continue;
      std::vector<Tensor> actual = run(operation, kind, call, *arranged);
      for (size_t i = 0; i < expected.size(); ++i) {
        expect_close(actual[i], expected[i], tolerance.relative, tolerance.absolute,
                     fmt::format("{} {} output {} in {}", kind, operation, i, to_string(layout)));
      }
    }
  }
  EXPECT_NE(registry.find(operation, "handwritten"), nullptr) << operation;
}

std::vector<Tensor> evaluate(const Graph& graph, const std::vector<Tensor>& inputs,
                             const std::vector<Value>& wanted, const std::string& kind) {
  std::vector<Tensor> values(graph.value_count());
  size_t next = 0;
  for (int id = 0; id < graph.value_count(); ++id) {
    const ValueInfo& info = graph.info(Value{id});
    if (info.storage == Storage::input || info.storage == Storage::state) values[id] = inputs.at(next++);
    if (info.storage == Storage::constant) values[id] = filled(info.type.shape, info.fill, info.type.dtype);
  }
  for (int id = 0; id < graph.node_count(); ++id) {
    const Node& node = graph.node(id);
    std::string name(node.operation->name());
    std::vector<Tensor> operands;
    for (Value input : node.inputs) operands.push_back(values[input.id]);
    std::vector<std::string> kinds = Registry::instance().kinds(name);
    bool has = kinds.empty() || std::find(kinds.begin(), kinds.end(), kind) != kinds.end();
    std::vector<Tensor> results = run(name, has ? kind : kinds.front(), call_of(graph, node), operands);
    for (size_t i = 0; i < results.size(); ++i) values[node.outputs[i].id] = results[i];
  }
  std::vector<Tensor> result;
  for (Value value : wanted) result.push_back(values.at(value.id));
  return result;
}

void check_gradient(const std::string& operation, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::vector<bool>& wanted,
                    const GradientCheck& check) {
  if (!has_reference(operation)) return;
  SCOPED_TRACE("gradient of " + operation + " " + to_string(attributes));
  Graph graph;
  std::vector<Value> operands;
  for (size_t i = 0; i < inputs.size(); ++i)
    operands.push_back(graph.input("x" + std::to_string(i), inputs[i].type));
  std::vector<Value> outputs = graph.add(operation, operands, attributes, operation);
  const Graph forward = graph;

  std::vector<Value> output_gradients(outputs.size());
  std::vector<Tensor> operand_values = inputs, weights(outputs.size());
  for (size_t i = 0; i < outputs.size(); ++i) {
    Type type = graph.type(outputs[i]);
    bool differentiable =
        i < check.differentiable.size() ? check.differentiable[i] : type.dtype == DType::f32;
    if (!differentiable) continue;
    output_gradients[i] = graph.input("dy" + std::to_string(i), type);
    weights[i] = random(type.shape, 77 + i);
    weights[i].type = type;
    operand_values.push_back(weights[i]);
  }
  Node node = graph.node(0);
  std::vector<Value> gradients = node.operation->gradient(graph, node, output_gradients, wanted);
  ASSERT_EQ(gradients.size(), inputs.size());

  auto objective = [&](const std::vector<Tensor>& at) {
    std::vector<Tensor> results = evaluate(forward, at, outputs);
    double sum = 0;
    for (size_t i = 0; i < outputs.size(); ++i) {
      sum += std::inner_product(weights[i].values.begin(), weights[i].values.end(), results[i].values.begin(),
                                0.0);
    }
    return sum;
  };
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!wanted[i]) continue;
    ASSERT_TRUE(gradients[i]) << "no gradient for input " << i;
    EXPECT_EQ(graph.type(gradients[i]), inputs[i].type) << "gradient of input " << i;
    Tensor analytic = evaluate(graph, operand_values, {gradients[i]})[0];
    Tensor numeric = analytic;
    std::vector<Tensor> moved = inputs;
    for (size_t k = 0; k < inputs[i].values.size(); ++k) {
      double x = inputs[i].values[k];
      float above = static_cast<float>(x + check.step), below = static_cast<float>(x - check.step);
      moved[i].values[k] = above;
      double high = objective(moved);
      moved[i].values[k] = below;
      double low = objective(moved);
      moved[i].values[k] = x;
      numeric.values[k] = (high - low) / (static_cast<double>(above) - below);
    }
    expect_close(analytic, numeric, check.tolerance.relative, check.tolerance.absolute,
                 "gradient of input " + std::to_string(i));
  }
}

void expect_refused(const std::string& operation, const std::vector<Tensor>& inputs,
                    const Attributes& attributes, const std::string& part) {
  try {
    call_for(operation, inputs, attributes);
    ADD_FAILURE() << operation << " accepted " << to_string(attributes);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
  }
}

}  // namespace lathe::testing
