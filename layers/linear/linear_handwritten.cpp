// Fully connected layers through our own GEMM.
#include "kernels/gemm/gemm.h"
#include "layers/layer.h"

namespace lathe {
namespace {

using kernels::Transpose;

// output = op(inputs[left]) · op(inputs[right]).
Prepared product(const Call& call, int left, Transpose transpose_left, int right, Transpose transpose_right) {
  const Shape &a = call.inputs[left].shape, &b = call.inputs[right].shape, &c = call.outputs[0].shape;
  int64_t M = c[0], N = c[1], K = transpose_left == Transpose::yes ? a[0] : a[1];
  int64_t lda = a[1], ldb = b[1];
  return {[=](const Bindings& bindings) -> Enqueue {
    return [=, A = bindings.in<float>(left), B = bindings.in<float>(right),
            C = bindings.out<float>(0)](cudaStream_t stream) {
      kernels::gemm({A, lda, transpose_left}, {B, ldb, transpose_right}, C, N, M, N, K, stream);
    };
  }};
}

const RegisterImplementation fprop("linear", {"handwritten", only_f32, [](const Call& call, const Options&) {
                                                return product(call, 0, Transpose::no, 1, Transpose::yes);
                                              }});
const RegisterImplementation dgrad("linear_dgrad",
                                   {"handwritten", only_f32, [](const Call& call, const Options&) {
                                      return product(call, 0, Transpose::no, 1, Transpose::no);
                                    }});
const RegisterImplementation wgrad("linear_wgrad",
                                   {"handwritten", only_f32, [](const Call& call, const Options&) {
                                      return product(call, 1, Transpose::yes, 0, Transpose::no);
                                    }});

}  // namespace
}  // namespace lathe
