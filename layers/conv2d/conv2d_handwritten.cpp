// Convolutions through the ladder's implicit GEMMs, NCHW; --winograd on: fprop through its F(4×4, 3×3).
#include "kernels/conv2d/ladder.h"
#include "layers/conv2d/conv2d.h"
#include "layers/step.h"

namespace lathe {
namespace {

constexpr auto kLayout = kernels::ConvLayout::nchw;

std::string supports(const Call& call) {
  std::string reason = only_f32(call);
  return reason.empty() ? only_row_major(call) : reason;
}

Prepared prepare_fprop(const Call& call, const Options& options) {
  const ConvShape shape = conv_shape(ConvDirection::fprop, call);
  const bool winograd = options.winograd && winograd_wins(shape);
  Prepared prepared = kernel_step(
      [shape, launch = winograd ? kernels::conv2d_winograd_4x4 : kernels::conv2d_implicit_gemm](
          const Bindings& b, cudaStream_t stream) {
        launch({.shape = shape,
                .layout = kLayout,
                .x = b.in<float>(0),
                .w = b.in<float>(1),
                .y = b.out<float>(0),
                .workspace = static_cast<float*>(b.workspace)},
               stream);
      },
      winograd ? kernels::conv2d_winograd_4x4_workspace(shape) : 0);
  if (winograd) prepared.detail = "winograd";
  return prepared;
}

Prepared prepare_dgrad(const Call& call, const Options&) {
  return kernel_step([shape = conv_shape(ConvDirection::dgrad, call)](const Bindings& b,
                                                                      cudaStream_t stream) {
    kernels::conv2d_dgrad<float>(
        {.shape = shape, .layout = kLayout, .dy = b.in<float>(0), .w = b.in<float>(1), .dx = b.out<float>(0)},
        stream);
  });
}

Prepared prepare_wgrad(const Call& call, const Options&) {
  const ConvShape shape = conv_shape(ConvDirection::wgrad, call);
  return kernel_step(
      [shape](const Bindings& b, cudaStream_t stream) {
        kernels::conv2d_wgrad<float>({.shape = shape,
                                      .layout = kLayout,
                                      .x = b.in<float>(0),
                                      .dy = b.in<float>(1),
                                      .dw = b.out<float>(0),
                                      .workspace = static_cast<float*>(b.workspace)},
                                     stream);
      },
      kernels::conv2d_wgrad_workspace(shape));
}

const RegisterImplementation fprop("conv2d", {"handwritten", supports, prepare_fprop});
const RegisterImplementation dgrad("conv2d_dgrad", {"handwritten", supports, prepare_dgrad});
const RegisterImplementation wgrad("conv2d_wgrad", {"handwritten", supports, prepare_wgrad});

}  // namespace
}  // namespace lathe
