#include "apps/training/evaluator.h"

#include <algorithm>
#include <cstring>

#include "engine/passes/passes.h"
#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"
#include "layers/native_layout.h"

namespace lathe {
namespace {

// About 2^18 pixels at a time: large enough to compute well, small beside a training step.
int64_t suitable_batch(int64_t image_size) {
  return std::clamp<int64_t>((int64_t{1} << 18) / (image_size * image_size), 4, 64);
}

Program compile_evaluation(const StepSpec& spec, int64_t batch, const Options& options) {
  return compile(run_passes(evaluation_graph(spec, batch), options, native_layout(), nullptr), options);
}

}  // namespace

int32_t EvaluationResult::predicted(int64_t sample) const {
  const float* row = probabilities.data() + sample * classes;
  return static_cast<int32_t>(std::max_element(row, row + classes) - row);
}

int64_t EvaluationResult::correct() const {
  int64_t count = 0;
  for (int64_t i = 0; i < samples(); ++i) count += predicted(i) == labels[static_cast<size_t>(i)] ? 1 : 0;
  return count;
}

double EvaluationResult::loss() const {
  double sum = 0;
  for (float loss : losses) sum += loss;
  return losses.empty() ? 0 : sum / static_cast<double>(losses.size());
}

Assessment assess(const EvaluationResult& result) {
  Assessment assessment{ConfusionMatrix(result.classes), {}};
  std::vector<float> confidence;
  std::vector<uint8_t> right;
  for (int64_t i = 0; i < result.samples(); ++i) {
    int32_t predicted = result.predicted(i), truth = result.labels[static_cast<size_t>(i)];
    std::span<const float> row(result.probabilities.data() + i * result.classes,
                               static_cast<size_t>(result.classes));
    assessment.confusion.add(truth, predicted);
    confidence.push_back(row[static_cast<size_t>(predicted)]);
    right.push_back(predicted == truth ? 1 : 0);
    assessment.top5 += in_top_k(row, truth, 5) ? 1 : 0;
  }
  assessment.calibration = calibrate(confidence, right);
  return assessment;
}

Evaluator::Evaluator(const StepSpec& spec, const Options& options, State& state, std::shared_ptr<Arena> arena,
                     int64_t batch)
    : spec_(spec),
      options_(options),
      state_(state),
      arena_(std::move(arena)),
      batch_(batch > 0 ? batch : suitable_batch(spec.model.image_size)),
      program_(compile_evaluation(spec_, batch_, options)) {}

void Evaluator::bind() { executable_ = std::make_unique<Executable>(program_, state_, arena_, 1); }

EvaluationResult Evaluator::run(const StagedSet& set, int workers, const std::function<bool()>& stop) {
  EvaluationResult result;
  result.classes = spec_.model.vgg.classes;
  auto send = [&](const char* name, const void* from, int64_t bytes) {
    check_cuda(cudaMemcpyAsync(executable_->input(0, name), from, static_cast<size_t>(bytes),
                               cudaMemcpyHostToDevice, stream_),
               name);
  };
  const int64_t zero = 0;
  send("seed", &zero, 8);
  send("epoch", &zero, 8);
  // Every step computes a whole batch, the last one with blank pictures behind the real ones, so that no
  // result depends on how many samples there are.
  int64_t image_bytes = spec_.stage_height * spec_.stage_width * 3;
  PinnedBuffer images(batch_ * image_bytes), samples(batch_ * 8), labels(batch_ * 4);
  PinnedBuffer losses(batch_ * 4), probabilities(batch_ * result.classes * 4);
  std::memset(images.data(), 0, static_cast<size_t>(batch_ * image_bytes));
  std::memset(samples.data(), 0, static_cast<size_t>(batch_ * 8));
  std::memset(labels.data(), 0, static_cast<size_t>(batch_ * 4));

  Pipeline pipeline(set, {.batch_size = batch_, .shuffle = false, .workers = workers});
  pipeline.start(0, 0, 1);
  while (const Batch* batch = pipeline.next()) {
    auto count = static_cast<size_t>(batch->size);
    std::memcpy(images.data(), batch->images, count * static_cast<size_t>(image_bytes));
    std::memcpy(samples.data(), batch->samples, count * 8);
    std::memcpy(labels.data(), batch->labels, count * 4);
    result.labels.insert(result.labels.end(), batch->labels, batch->labels + batch->size);
    pipeline.release(batch);
    send("images", images.data(), batch_ * image_bytes);
    send("samples", samples.data(), batch_ * 8);
    send("labels", labels.data(), batch_ * 4);
    executable_->run(0, stream_);
    auto receive = [&](const char* name, PinnedBuffer& to, int64_t bytes) {
      check_cuda(cudaMemcpyAsync(to.data(), executable_->output(0, name), static_cast<size_t>(bytes),
                                 cudaMemcpyDeviceToHost, stream_),
                 name);
    };
    receive("losses", losses, batch_ * 4);
    receive("probabilities", probabilities, batch_ * result.classes * 4);
    check_cuda(cudaStreamSynchronize(stream_), "evaluation");
    throw_host_step_error();
    const auto* loss = reinterpret_cast<const float*>(losses.data());
    const auto* probability = reinterpret_cast<const float*>(probabilities.data());
    result.losses.insert(result.losses.end(), loss, loss + count);
    result.probabilities.insert(result.probabilities.end(), probability,
                                probability + count * static_cast<size_t>(result.classes));
    if (stop && stop()) break;
  }
  return result;
}

}  // namespace lathe
