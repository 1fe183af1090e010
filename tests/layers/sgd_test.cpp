// SGD: PyTorch's numbers, the update formulas of docs, in place, and the skipped step.
#include <limits>

#include "tests/layers/harness.h"

namespace lathe::testing {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
// Three steps' gradients, as in golden/optimizers.py.
const std::vector<std::vector<double>> kGradients = {{0.5, -1.25, 3}, {0.25, 2, -0.125}, {-0.75, 0, 1.5}};

Attributes sgd(double momentum, double decay, bool nesterov) {
  return {{"momentum", momentum}, {"weight_decay", decay}, {"nesterov", int64_t{nesterov}}};
}

// The parameter after each of the given gradients.
std::vector<Tensor> train(const std::string& kind, Tensor parameter, const std::vector<Tensor>& gradients,
                          const Attributes& attributes) {
  Tensor buffer = filled(parameter.type.shape, 0);
  std::vector<Tensor> history;
  for (const Tensor& gradient : gradients) {
    std::vector<Tensor> inputs{parameter, gradient};
    if (attributes.real("momentum") > 0) inputs.push_back(buffer);
    inputs.insert(inputs.end(), {scalar(0.1), scalar(1)});
    std::vector<Tensor> outputs = run("sgd", kind, inputs, attributes);
    history.push_back(parameter = outputs[0]);
    if (outputs.size() > 1) buffer = outputs[1];
  }
  return history;
}

std::vector<Tensor> golden_gradients() {
  std::vector<Tensor> gradients;
  for (const auto& values : kGradients) gradients.push_back(tensor({3}, values));
  return gradients;
}

TEST(Sgd, UpdateFormulas) {
  struct Case {
    Attributes attributes;
    std::vector<double> expected;
  };
  const std::vector<Case> cases = {{sgd(0, 0.1, false), {0.94, 0.8806, 0.821794}},
                                   {sgd(0.9, 0, false), {0.95, 0.855, 0.7195}},
                                   {sgd(0.9, 0, true), {0.905, 0.7695, 0.59755}},
                                   {sgd(0.9, 0.1, false), {0.94, 0.8266, 0.666274}}};
  for (const std::string& kind : Registry::instance().kinds("sgd")) {
    for (const Case& c : cases) {
      std::vector<Tensor> history =
          train(kind, tensor({1}, {1}), std::vector<Tensor>(3, tensor({1}, {0.5})), c.attributes);
      for (size_t step = 0; step < 3; ++step) expect_close(history[step], tensor({1}, {c.expected[step]}));
    }
  }
}

TEST(Sgd, IsPyTorchs) {
  for (const std::string& kind : Registry::instance().kinds("sgd")) {
    Tensor start = tensor({3}, {1, -2, 0.5});
    expect_close(train(kind, start, golden_gradients(), sgd(0, 0.1, false))[2],
                 tensor({3}, {0.971544027, -2.01608539, 0.0534944944}));
    expect_close(train(kind, start, golden_gradients(), sgd(0.9, 0.01, false))[2],
                 tensor({3}, {0.886609733, -2.03031445, -0.440925419}));
    expect_close(train(kind, start, golden_gradients(), sgd(0.8, 0.01, true))[2],
                 tensor({3}, {0.919739962, -2.10508943, -0.626097143}));
  }
}

TEST(Sgd, ImplementationsAgreeOnEveryLength) {
  for (int64_t n : {1, 2, 3, 5, 7, 8, 9, 15, 16, 17, 31, 33, 257, 1000}) {
    std::vector<Tensor> inputs{random({n}, 1), random({n}, 2), random({n}, 3), scalar(0.05), scalar(0.25)};
    for (bool nesterov : {false, true}) expect_agree("sgd", inputs, sgd(0.9, 5e-4, nesterov));
    inputs.erase(inputs.begin() + 2);
    expect_agree("sgd", inputs, sgd(0, 5e-4, true));  // without momentum both forms are plain
  }
  expect_agree("sgd", {random({5, 3, 3, 3}, 1), random({5, 3, 3, 3}, 2), scalar(0.05), scalar(1)},
               sgd(0, 0, false));
}

TEST(Sgd, WorksOneElementOffAlignment) {
  std::vector<Tensor> inputs{random({33}, 1), random({33}, 2), random({33}, 3), scalar(0.05), scalar(0.5)};
  expect_same(run("sgd", "handwritten", inputs, sgd(0.9, 0.1, true), 1)[0],
              run("sgd", "handwritten", inputs, sgd(0.9, 0.1, true))[0]);
}

TEST(Sgd, ANaNScaleChangesNothing) {
  std::vector<Tensor> inputs{random({17}, 1), filled({17}, kNaN), random({17}, 3), scalar(0.1), scalar(kNaN)};
  for (const std::string& kind : Registry::instance().kinds("sgd")) {
    std::vector<Tensor> outputs = run("sgd", kind, inputs, sgd(0.9, 0.1, true));
    expect_same(outputs[0], inputs[0]);
    expect_same(outputs[1], inputs[2]);
  }
}

TEST(Sgd, TheScaleUndoesTheLossScaleBeforeDecay) {
  for (const std::string& kind : Registry::instance().kinds("sgd")) {
    std::vector<Tensor> inputs{tensor({1}, {1}), tensor({1}, {512}), scalar(0.1), scalar(1.0 / 1024)};
    expect_close(run("sgd", kind, inputs, sgd(0, 0.1, false))[0], tensor({1}, {0.94}));
  }
}

TEST(Sgd, RefusesWhatDoesNotFit) {
  Tensor w = random({4}, 1), one = scalar(1);
  expect_refused("sgd", {w, random({5}, 2), one, one}, sgd(0, 0, false), "parameter is");
  expect_refused("sgd", {w, w, one, one}, sgd(0.9, 0, false), "inputs");
  expect_refused("sgd", {w, w, one, one}, sgd(-0.1, 0, false), "momentum");
  expect_refused("sgd", {w, w, w, one, one}, sgd(1, 0, false), "momentum");
  expect_refused("sgd", {w, w, one, one}, sgd(0, -1, false), "weight decay");
  expect_refused("sgd", {w, w, w, one}, sgd(0, 0, false), "scalars");
}

}  // namespace
}  // namespace lathe::testing
