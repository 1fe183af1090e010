// Augmentation: 8-bit pictures as the pipeline delivers them become the network's normalised input, changed
// at random while training. With all options off (evaluation) it is a resize to the output's size, or
// nothing, and the normalisation. What it does to a sample: kernels/augment/ladder.h.
//   inputs   images u8[N,H0,W0,3], samples i64[N] (index in the data set), seed i64[], epoch i64[]
//   output   f32[N,3,H,W] nchw
//   attributes of augment_attributes()
#include "layers/augment/augment_options.h"
#include "layers/layer.h"

namespace lathe {
namespace {

struct Augment final : Operation {
  std::string_view name() const override { return "augment"; }

  std::vector<Type> infer(const Call& call) const override {
    require(call.inputs.size() == 4, call, "takes images, samples, seed and epoch");
    const Type& images = call.inputs[0];
    require(images.dtype == DType::u8 && images.shape.rank() == 4 && images.shape[3] == 3, call,
            "images are " + to_string(images) + ", not u8[N, H, W, 3]");
    int64_t n = images.shape[0], height = call.attributes.integers("size").at(0),
            width = call.attributes.integers("size").at(1);
    require(n > 0 && images.shape[1] > 0 && images.shape[2] > 0 && height > 0 && width > 0, call,
            "a picture has no pixels: " + to_string(images));
    require(call.inputs[1] == Type{DType::i64, {n}}, call,
            "sample indices are " + to_string(call.inputs[1]) + ", not i64[" + std::to_string(n) + "]");
    require(call.inputs[2] == Type{DType::i64, {}} && call.inputs[3] == Type{DType::i64, {}}, call,
            "seed and epoch must each be an i64 scalar");
    // Coordinates are floats, and tables of rows and columns are counted in int.
    constexpr int64_t kLongest = int64_t{1} << 20;
    require(std::max({images.shape[1], images.shape[2], height, width}) <= kLongest, call,
            "a picture side is longer than " + std::to_string(kLongest));
    std::string reason = unfit(augment_options(call.attributes), height, width);
    require(reason.empty(), call, reason);
    for (double deviation : normalization(call.attributes).deviation)
      require(deviation > 0, call, "a deviation of the normalisation is not positive");
    return {{DType::f32, {n, 3, height, width}}};
  }

  Cost cost(const Call& call) const override {
    // About 20 operations a value: coordinates, three interpolations, colour, normalisation.
    Cost cost = Operation::cost(call);
    cost.flops = 20.0 * static_cast<double>(call.outputs[0].shape.elements());
    return cost;
  }
};

const Register<Augment> augment;

}  // namespace
}  // namespace lathe
