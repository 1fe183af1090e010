// What an operation is to the engine: shape rule, gradient rule, cost, memory behaviour, implementations.
// The engine knows operations only through this interface and finds them by name in the registry.
#pragma once

#include <cuda_runtime.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/runtime/options.h"

namespace lathe {

// An operation applied to concrete types: all that a shape rule, a cost or an implementation may look at.
struct Call {
  std::vector<Type> inputs, outputs;
  Attributes attributes;
  std::string name;  // the node's, for messages
};
Call call_of(const Graph& graph, const Node& node);

struct Cost {
  double flops = 0;  // a multiply-add is 2
  double bytes = 0;  // every operand read or written once
};

// How an output's memory relates to an input's.
struct Alias {
  enum Kind : uint8_t {
    none,
    view,    // the output is the input's bytes under another type; no work is done
    update,  // the output overwrites the input, which is (usually) state
    reuse,   // the output may take the input's buffer if nothing reads the input later
  } kind = none;
  int input = 0;
};

// How the layout pass may treat an operand (4-D operands only; others are row-major).
enum class LayoutRule : uint8_t {
  row_major,  // must be nchw
  free,       // any layout, independent of the other operands
  tied,       // any layout, the same for all tied operands
};

// Device addresses for one node, in the order of its inputs and outputs.
struct Bindings {
  std::vector<const void*> inputs;
  std::vector<void*> outputs;
  void* workspace = nullptr;

  template <typename T>
  const T* in(size_t i) const {
    return static_cast<const T*>(inputs.at(i));
  }
  template <typename T>
  T* out(size_t i) const {
    return static_cast<T*>(outputs.at(i));
  }
};

// Enqueues the work on a stream and returns at once. Called once per step, or once under graph capture.
using Enqueue = std::function<void(cudaStream_t)>;

// A node made ready for its types (plans built, primitives created), before addresses are known.
struct Prepared {
  std::function<Enqueue(const Bindings&)> bind;
  int64_t workspace_bytes = 0;  // planned like a tensor, live during this node only
  std::string detail = {};      // chosen algorithm, for `plan` and `profile`
};

// One way to compute an operation.
struct Implementation {
  std::string kind;                                  // library, handwritten or reference
  std::function<std::string(const Call&)> supports;  // empty: yes; otherwise the reason why not
  std::function<Prepared(const Call&, const Options&)> prepare;
};

class Operation {
 public:
  virtual ~Operation() = default;
  virtual std::string_view name() const = 0;

  // Types of the outputs. Throws Error(usage), naming call.name, for types that do not fit. call.outputs is
  // empty.
  virtual std::vector<Type> infer(const Call& call) const = 0;

  // Adds to `graph` what computes the gradients of the inputs from those of the outputs (an invalid Value
  // means zero / not needed). Returns one Value an input; invalid where it has none. `wanted[i]` is false
  // for inputs whose gradient nobody needs, so that no work is added for them.
  virtual std::vector<Value> gradient(Graph& graph, const Node& node,
                                      const std::vector<Value>& output_gradients,
                                      const std::vector<bool>& wanted) const;

  virtual Cost cost(const Call& call) const;  // default: no flops, every operand once

  virtual Alias alias(const Call& call, int output) const;               // default: none
  virtual LayoutRule input_layout(const Call& call, int input) const;    // default: row_major
  virtual LayoutRule output_layout(const Call& call, int output) const;  // default: row_major

  // The input that this node merely passes on (dropout with p = 0, a cast to the same type), if it does.
  virtual std::optional<int> identity(const Call& call) const;
  // True where the node must stay although nobody reads its outputs. Default: it has an update output.
  virtual bool has_effect(const Call& call) const;
};

// Every operation and implementation that is linked in. Filled by static initialisers, read-only afterwards.
class Registry {
 public:
  static Registry& instance();
  void add(std::unique_ptr<Operation> operation);
  void add(const std::string& operation, Implementation implementation);
  const Operation& operation(std::string_view name) const;  // std::logic_error where unknown
  const Implementation* find(std::string_view operation, std::string_view kind) const;  // nullptr: none
  std::vector<std::string> operations() const;                                          // sorted
  std::vector<std::string> kinds(std::string_view operation) const;

 private:
  std::map<std::string, std::unique_ptr<Operation>, std::less<>> operations_;
  std::map<std::string, std::vector<Implementation>, std::less<>> implementations_;
};

// At namespace scope in a layer's files:
//   const Register<Relu> relu;                                             the operation
//   const RegisterImplementation fast("relu", {"handwritten", supports, prepare});
template <typename T>
struct Register {
  Register() { Registry::instance().add(std::make_unique<T>()); }
};
struct RegisterImplementation {
  RegisterImplementation(const std::string& operation, Implementation implementation) {
    Registry::instance().add(operation, std::move(implementation));
  }
};

}  // namespace lathe
