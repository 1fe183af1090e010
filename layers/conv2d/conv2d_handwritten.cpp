// Convolutions through our own implicit-GEMM kernels, NCHW.
#include "layers/conv2d/conv2d.h"

namespace lathe {
namespace {

std::string supports(const Call& call) {
  std::string reason = only_f32(call);
  return reason.empty() ? only_row_major(call) : reason;
}

using Kernel = void (*)(const float*, const float*, float*, const ConvShape&, cudaStream_t);

template <ConvDirection direction, Kernel kernel>
Prepared prepare(const Call& call, const Options&) {
  return {[shape = conv_shape(direction, call)](const Bindings& b) -> Enqueue {
    return [shape, first = b.in<float>(0), second = b.in<float>(1),
            result = b.out<float>(0)](cudaStream_t stream) { kernel(first, second, result, shape, stream); };
  }};
}

const RegisterImplementation fprop("conv2d", {"handwritten", supports,
                                              prepare<ConvDirection::fprop, kernels::conv2d_fprop>});
const RegisterImplementation dgrad("conv2d_dgrad", {"handwritten", supports,
                                                    prepare<ConvDirection::dgrad, kernels::conv2d_dgrad>});
const RegisterImplementation wgrad("conv2d_wgrad", {"handwritten", supports,
                                                    prepare<ConvDirection::wgrad, kernels::conv2d_wgrad>});

}  // namespace
}  // namespace lathe
