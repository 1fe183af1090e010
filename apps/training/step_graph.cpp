#include "apps/training/step_graph.h"

#include "engine/graph/differentiate.h"
#include "layers/builder.h"

namespace lathe {
namespace {

const Type kScalarInt{DType::i64, {}}, kScalar{DType::f32, {}};

struct PictureInputs {
  Value images, samples, labels, seed, epoch;
};

PictureInputs picture_inputs(Graph& graph, const StepSpec& spec, int64_t batch) {
  return {graph.input("images", {DType::u8, {batch, spec.stage_height, spec.stage_width, 3}}),
          graph.input("samples", {DType::i64, {batch}}), graph.input("labels", {DType::i32, {batch}}),
          graph.input("seed", kScalarInt), graph.input("epoch", kScalarInt)};
}

Value augmented(Graph& graph, const PictureInputs& in, const Attributes& attributes) {
  graph.phase = Phase::augment;
  Value x = graph.add1("augment", {in.images, in.samples, in.seed, in.epoch}, attributes, "augment");
  graph.phase = Phase::forward;
  return x;
}

Value sum_of(Graph& graph, Value value, const std::string& name) {
  return graph.add1("reduce_sum", {value}, {{"axes", std::vector<int64_t>{0}}}, name);
}

struct Update {
  const Parameter* parameter;
  Value value, gradient;
};

void add_optimizer(Graph& graph, const UpdateRule& rule, const Update& update, Value lr, Value count,
                   Value scale) {
  const std::string& name = update.parameter->name;
  bool decays = rule.decay_all || update.parameter->is_weight;
  double decay = decays ? rule.weight_decay : 0.0;
  auto slot = [&](const char* what) {
    return graph.state(std::string("optimizer.") + what + "." + name, graph.type(update.value));
  };
  if (rule.optimizer == "sgd") {
    std::vector<Value> inputs{update.value, update.gradient};
    if (rule.momentum != 0) inputs.push_back(slot("momentum"));
    inputs.push_back(lr);
    inputs.push_back(scale);
    graph.add("sgd", inputs,
              {{"momentum", rule.momentum}, {"nesterov", int64_t{rule.nesterov}}, {"weight_decay", decay}},
              name);
  } else {
    graph.add("adam", {update.value, update.gradient, slot("m"), slot("v"), lr, count, scale},
              {{"beta1", rule.beta1},
               {"beta2", rule.beta2},
               {"epsilon", rule.epsilon},
               {"weight_decay", decay},
               {"decoupled", int64_t{rule.optimizer == "adamw"}}},
              name);
  }
}

// Adds to the accumulated gradients of earlier batches, or starts them; the last batch gets the total back.
void accumulate(Graph& graph, StepRole role, std::vector<Update>& updates) {
  for (Update& update : updates) {
    const std::string& name = update.parameter->name;
    Value total = graph.state("accumulated." + name, graph.type(update.value));
    const char* operation = role == StepRole::first ? "assign" : "accumulate";
    update.gradient = graph.add1(operation, {total, update.gradient}, {}, name);
  }
}

}  // namespace

Graph training_graph(const StepSpec& spec, int64_t batch, StepRole role) {
  Graph graph;
  PictureInputs in = picture_inputs(graph, spec, batch);
  Value step = graph.input("step", kScalarInt), count = graph.input("update_count", kScalarInt);
  Value lr = graph.input("lr", kScalar), loss_scale = graph.input("loss_scale", kScalar);
  Value sample_weight = graph.input("sample_weight", kScalar);

  Builder net(graph, true, spec.frozen);
  net.set_random(in.seed, step);
  Value logits = vgg16(net, augmented(graph, in, spec.augment), spec.model.vgg);

  graph.phase = Phase::loss;
  Value losses =
      graph.add1("softmax_cross_entropy", {logits, in.labels}, {{"smoothing", spec.label_smoothing}}, "loss");
  graph.output("loss_sum", sum_of(graph, losses, "loss"));
  graph.output("correct",
               sum_of(graph, graph.add1("correct", {logits, in.labels}, {}, "accuracy"), "accuracy"));

  graph.phase = Phase::backward;
  std::vector<Update> updates;
  std::vector<Value> targets;
  for (const Parameter& parameter : net.parameters()) {
    if (!parameter.trainable) continue;
    updates.push_back({&parameter, graph.state(parameter.name, parameter.type), {}});
    targets.push_back(updates.back().value);
  }
  Value weight = graph.add1("multiply", {sample_weight, loss_scale}, {}, "loss");
  Value loss_gradient =
      graph.add1("broadcast", {weight},
                 {{"shape", std::vector<int64_t>{batch}}, {"axes", std::vector<int64_t>{0}}}, "loss");
  Sum sum = [](Graph& g, Value a, Value b) { return g.add1("add", {a, b}); };
  std::vector<Value> gradients = differentiate(graph, losses, loss_gradient, targets, sum);
  for (size_t i = 0; i < updates.size(); ++i) updates[i].gradient = gradients[i];

  graph.phase = Phase::update;
  if (role != StepRole::whole) accumulate(graph, role, updates);
  if (role == StepRole::first || role == StepRole::middle) return graph;

  // Nothing to unscale and nothing to clip: no node that waits for every gradient.
  Value scale = graph.constant(kScalar, 1.0);
  if (spec.rule.clip_norm > 0) {
    std::vector<Value> all;
    all.reserve(updates.size() + 1);
    for (const Update& update : updates) all.push_back(update.gradient);
    all.push_back(loss_scale);
    scale = graph.add1("gradient_scale", all, {{"max_norm", spec.rule.clip_norm}}, "gradient_scale");
  }
  for (const Update& update : updates) add_optimizer(graph, spec.rule, update, lr, count, scale);
  return graph;
}

Graph evaluation_graph(const StepSpec& spec, int64_t batch) {
  Graph graph;
  PictureInputs in = picture_inputs(graph, spec, batch);
  Builder net(graph, false);
  Value logits = vgg16(net, augmented(graph, in, spec.augment), spec.model.vgg);
  graph.phase = Phase::loss;
  graph.output("losses",
               graph.add1("softmax_cross_entropy", {logits, in.labels}, {{"smoothing", 0.0}}, "loss"));
  graph.output("probabilities", graph.add1("softmax", {logits}, {}, "probabilities"));
  return graph;
}

}  // namespace lathe
