// Augmentation through our own kernels.
#include "kernels/augment/ladder.h"
#include "layers/augment/augment_options.h"
#include "layers/layer.h"

namespace lathe {
namespace {

kernels::ColourScale colour_scale(const Normalization& normalization) {
  kernels::ColourScale colour{};
  for (size_t c = 0; c < 3; ++c) {
    colour.scale[c] = static_cast<float>(1 / (255 * normalization.deviation[c]));
    colour.offset[c] = static_cast<float>(-normalization.mean[c] / normalization.deviation[c]);
  }
  return colour;
}

const RegisterImplementation handwritten(
    "augment",
    {"handwritten", only_row_major, [](const Call& call, const Options&) {
       const Shape &in = call.inputs[0].shape, &out = call.outputs[0].shape;
       kernels::PictureSizes sizes{in[1], in[2], out[2], out[3]};
       auto bind = [=, n = in[0], options = augment_options(call.attributes),
                    colour = colour_scale(normalization(call.attributes))](const Bindings& b) -> Enqueue {
         return [=](cudaStream_t stream) {
           kernels::augment_fused({b.in<uint8_t>(0), b.in<int64_t>(1), b.in<int64_t>(2), b.in<int64_t>(3),
                                   options, colour, sizes, n, b.workspace, b.out<float>(0)},
                                  stream);
         };
       };
       return Prepared{bind, kernels::augment_workspace_bytes(sizes, in[0]),
                       to_string(augment_options(call.attributes))};
     }});

}  // namespace
}  // namespace lathe
