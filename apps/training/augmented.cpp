#include "apps/training/augmented.h"

#include <algorithm>
#include <cmath>

#include "apps/training/session.h"
#include "engine/runtime/cuda_check.h"
#include "engine/runtime/host_step.h"

namespace lathe {

std::vector<Picture> augmented_pictures(const StagedSet& set, const std::vector<AugmentedSample>& samples,
                                        const AugmentOptions& augment, const Normalization& normalization,
                                        int64_t image_size, uint64_t seed, const Options& options) {
  // One picture at a time: the epoch is a scalar of the step, and each may come from another one.
  Graph graph;
  Value images = graph.input("images", {DType::u8, {1, set.height(), set.width(), 3}});
  Value index = graph.input("samples", {DType::i64, {1}});
  Value seed_value = graph.input("seed", {DType::i64, {}}), epoch = graph.input("epoch", {DType::i64, {}});
  graph.output("y", graph.add1("augment", {images, index, seed_value, epoch},
                               augment_attributes(augment, normalization, image_size, image_size)));
  Program program = compile(std::move(graph), options);
  State state;
  Executable step(program, state, std::make_shared<Arena>());
  Stream stream;
  auto send = [&](const char* name, const void* from, int64_t bytes) {
    check_cuda(cudaMemcpy(step.input(0, name), from, static_cast<size_t>(bytes), cudaMemcpyHostToDevice),
               name);
  };
  send("seed", &seed, sizeof seed);

  std::vector<Picture> pictures;
  std::vector<uint8_t> pixels(static_cast<size_t>(set.sample_bytes()));
  int64_t plane = image_size * image_size;
  std::vector<float> y(static_cast<size_t>(3 * plane));
  for (const AugmentedSample& sample : samples) {
    set.load(sample.sample, pixels.data());
    send("images", pixels.data(), set.sample_bytes());
    send("samples", &sample.sample, sizeof sample.sample);
    send("epoch", &sample.epoch, sizeof sample.epoch);
    step.run(0, stream);
    check_cuda(cudaStreamSynchronize(stream), "augment");
    throw_host_step_error();
    check_cuda(cudaMemcpy(y.data(), step.output(0, "y"), y.size() * sizeof(float), cudaMemcpyDeviceToHost),
               "augment");
    Picture picture(image_size, image_size);
    for (int64_t i = 0; i < plane; ++i) {
      for (int64_t c = 0; c < 3; ++c) {
        auto colour = static_cast<size_t>(c);
        double value = y[static_cast<size_t>(c * plane + i)] * normalization.deviation[colour] +
                       normalization.mean[colour];
        picture.rgb[static_cast<size_t>(3 * i + c)] =
            static_cast<uint8_t>(std::lround(std::clamp(255 * value, 0.0, 255.0)));
      }
    }
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

}  // namespace lathe
