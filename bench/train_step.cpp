// Times the training step of VGG16 on pictures in memory: the whole step, or operation by operation.
//   train_step [--batch 128] [--image-size 32] [--model vgg16_bn] [--steps 10] [--warmup 3] [--ops]
//   [SWITCH=VALUE…]
// Prints one JSON object: milliseconds of every step. bench/vs_pytorch.py interleaves it with PyTorch.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <string>
#include <vector>

#include "apps/training/session.h"
#include "engine/passes/passes.h"
#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"
#include "engine/runtime/threads.h"
#include "layers/augment/augment_options.h"
#include "layers/native_layout.h"

using namespace lathe;

namespace {

struct Arguments {
  int64_t batch = 128, image_size = 32, steps = 10, warmup = 3;
  int threads = 0;
  bool batch_norm = true, classic = false, operations = false;
  Options options;
};

Arguments parse(int argc, char** argv) {
  Arguments a;
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    auto next = [&] { return std::string(i + 1 < argc ? argv[++i] : "0"); };
    if (word == "--batch")
      a.batch = std::stoll(next());
    else if (word == "--image-size")
      a.image_size = std::stoll(next());
    else if (word == "--steps")
      a.steps = std::stoll(next());
    else if (word == "--warmup")
      a.warmup = std::stoll(next());
    else if (word == "--threads")
      a.threads = std::stoi(next());
    else if (word == "--model")
      a.batch_norm = next() == "vgg16_bn";
    else if (word == "--head")
      a.classic = next() == "classic";
    else if (word == "--ops")
      a.operations = true;
    else if (size_t equals = word.find('='); equals != std::string::npos)
      set_switch(a.options, word.substr(0, equals), word.substr(equals + 1));
    else
      throw Error(ExitCode::usage, "unknown argument " + word);
  }
  return a;
}

void print_operations(Executable& step, cudaStream_t stream, int64_t repeats) {
  const Program& program = step.program();
  std::vector<std::vector<double>> times(program.steps.size());
  for (int64_t r = 0; r < repeats; ++r) {
    std::vector<double> once = step.run_timed(0, stream);
    for (size_t i = 0; i < once.size(); ++i) times[i].push_back(once[i]);
  }
  std::map<std::string, double> by_operation;
  double total = 0;
  for (size_t i = 0; i < times.size(); ++i) {
    std::nth_element(times[i].begin(), times[i].begin() + static_cast<long>(times[i].size() / 2),
                     times[i].end());
    double ms = times[i][times[i].size() / 2];
    const PlannedStep& planned = program.steps[i];
    const Node& node = program.graph.node(planned.node);
    by_operation[std::string(node.operation->name()) + " " + planned.implementation] += ms;
    total += ms;
    fmt::print("{:8.3f} ms {:8.1f} GFLOP/s {:6.1f} GB/s  {:<22} {:<11} {:<16} {} -> {}  {}\n", ms,
               planned.cost.flops / ms / 1e6, planned.cost.bytes / ms / 1e6, node.operation->name(),
               planned.implementation, node.name, to_string(planned.call.inputs.at(0)),
               to_string(planned.call.outputs.at(0)), planned.prepared.detail);
  }
  fmt::print("\n");
  std::vector<std::pair<double, std::string>> rows;
  for (const auto& [name, ms] : by_operation) rows.emplace_back(ms, name);
  std::sort(rows.rbegin(), rows.rend());
  for (const auto& [ms, name] : rows) fmt::print("{:8.2f} ms {:5.1f}%  {}\n", ms, 100 * ms / total, name);
  fmt::print("{:8.2f} ms total, {}\n", total, describe(program.memory));
}

int run(const Arguments& a) {
  set_threads(a.threads);
  StepSpec spec;
  spec.model.vgg.batch_norm = a.batch_norm;
  spec.model.vgg.head = a.classic ? Head::classic : Head::linear;
  spec.model.vgg.classes = 10;
  spec.model.image_size = a.image_size;
  spec.rule.momentum = 0.9;
  spec.rule.weight_decay = 5e-4;
  spec.stage_height = spec.stage_width = a.image_size;
  spec.augment = augment_attributes(parse_augment("light", a.image_size), parse_normalize("cifar10"),
                                    a.image_size, a.image_size);

  Options options = effective_options(a.options);
  std::vector<std::string> notes;
  Program program = compile(
      run_passes(training_graph(spec, a.batch, StepRole::whole), options, native_layout(), &notes), options);
  State state;
  initialise(state, model_parameters(spec.model), 1);
  Executable step(program, state, std::make_shared<Arena>());
  Stream stream;
  auto send = [&](const char* name, const auto& values) {
    check_cuda(cudaMemcpy(step.input(0, name), values.data(), values.size() * sizeof(values[0]),
                          cudaMemcpyHostToDevice),
               name);
  };
  std::vector<uint8_t> images(static_cast<size_t>(a.batch * a.image_size * a.image_size * 3));
  for (size_t i = 0; i < images.size(); ++i) images[i] = static_cast<uint8_t>(i * 2654435761U >> 24);
  std::vector<int64_t> samples(static_cast<size_t>(a.batch)), zero{0}, one{1};
  std::vector<int32_t> labels(static_cast<size_t>(a.batch));
  for (size_t i = 0; i < labels.size(); ++i) labels[i] = static_cast<int32_t>(i % 10);
  send("images", images);
  send("samples", samples);
  send("labels", labels);
  for (const char* name : {"seed", "epoch", "step"}) send(name, zero);
  send("update_count", one);
  send("lr", std::vector<float>{0.01F});
  send("loss_scale", std::vector<float>{1});
  send("sample_weight", std::vector<float>{1.0F / static_cast<float>(a.batch)});

  std::vector<double> milliseconds;
  for (int64_t i = 0; i < a.warmup + a.steps; ++i) {
    auto start = std::chrono::steady_clock::now();
    step.run(0, stream);
    check_cuda(cudaStreamSynchronize(stream), "training step");
    throw_host_step_error();
    double ms = std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
    if (i >= a.warmup) milliseconds.push_back(ms);
  }
  if (a.operations) print_operations(step, stream, 5);
  float loss = 0;
  check_cuda(cudaMemcpy(&loss, step.output(0, "loss_sum"), sizeof loss, cudaMemcpyDeviceToHost), "loss");
  fmt::print("{{\"switches\": \"{}\", \"loss\": {}, \"arena_bytes\": {}, \"step_ms\": [{:.3f}]}}\n",
             to_string(options), loss / static_cast<float>(a.batch), program.memory.packing.peak,
             fmt::join(milliseconds, ", "));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv));
  } catch (const Error& error) {
    fmt::print(stderr, "train_step: {}\n", error.what());
    return static_cast<int>(error.code());
  }
}
