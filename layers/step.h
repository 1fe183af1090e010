// Shorthand for implementations: a Prepared from what a step does with its addresses.
#pragma once

#include <utility>

#include "engine/runtime/host_step.h"
#include "kernels/activation.h"
#include "layers/layer.h"

namespace lathe {

// body(const Bindings&, cudaStream_t) launches kernels.
template <typename Body>
Prepared kernel_step(Body body, int64_t workspace_bytes = 0) {
  return {[body](const Bindings& bindings) -> Enqueue {
            return [body, bindings](cudaStream_t stream) { body(bindings, stream); };
          },
          workspace_bytes, ""};
}

// body(const Bindings&) computes on the CPU.
template <typename Body>
Prepared reference_step(Body body) {
  return {[body](const Bindings& bindings) { return host_step([body, bindings] { body(bindings); }); }, 0,
          ""};
}

// What the kernels know of a tensor of rank ≥ 2 whose axis 1 is the channel.
inline kernels::Activation activation(const Type& type) {
  ChannelView view = channel_view(type);
  return {view.samples, view.channel_blocks, view.spatial, view.block};
}

// Where element (sample, channel, position) of such a tensor lies.
class ActivationIndex {
 public:
  explicit ActivationIndex(const Type& type) : view_(channel_view(type)) {}
  int64_t operator()(int64_t n, int64_t c, int64_t s) const {
    int64_t plane = n * view_.channel_blocks + c / view_.block;
    return (plane * view_.spatial + s) * view_.block + c % view_.block;
  }

 private:
  ChannelView view_;
};

}  // namespace lathe
