// The graphs that a run needs: the whole training step from uint8 pictures to updated parameters, and
// evaluation.
#pragma once

#include <string>
#include <vector>

#include "apps/training/model.h"
#include "engine/graph/graph.h"

namespace lathe {

struct UpdateRule {
  std::string optimizer = "sgd";  // sgd, adam or adamw
  double momentum = 0.9;
  bool nesterov = false;
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
  double weight_decay = 0;
  bool decay_all = false;  // otherwise weights only: no bias, gamma or beta
  double clip_norm = 0;    // 0: no clipping
};

// Which part of an update a step is: with --accumulate K it takes a `first`, K - 2 `middle` and a `last`
// step.
enum class StepRole : uint8_t { whole, first, middle, last };

struct StepSpec {
  ModelSpec model;
  Builder::Frozen frozen;
  UpdateRule rule;
  double label_smoothing = 0;
  Attributes augment;                         // of the augment node; from layers/augment
  int64_t stage_height = 0, stage_width = 0;  // of the uint8 pictures
};

// Inputs of both graphs: images u8[N,H,W,3], samples i64[N], seed, epoch i64[]; labels i32[N] too.
// Training also takes step i64[], update_count i64[] (1 for the first update), lr f32[], loss_scale f32[],
// sample_weight f32[] (what one sample's loss weighs in the update: 1 / samples of the update).
// Outputs: loss_sum f32[], correct f32[] (over the N samples).
Graph training_graph(const StepSpec& spec, int64_t batch, StepRole role);

// Outputs: losses f32[N], probabilities f32[N, classes]. Nothing is updated and no picture is augmented.
Graph evaluation_graph(const StepSpec& spec, int64_t batch);

// The optimiser's state of a parameter is named "optimizer.<what>.<parameter>", accumulated gradients
// "accumulated.<parameter>".

}  // namespace lathe
