// Fully connected layers through our own GEMM.
#include "kernels/gemm/ladder.h"
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
      kernels::gemm_double_buffered({.A = A,
                                     .lda = lda,
                                     .B = B,
                                     .ldb = ldb,
                                     .C = C,
                                     .ldc = N,
                                     .M = M,
                                     .N = N,
                                     .K = K,
                                     .transpose_a = transpose_left,
                                     .transpose_b = transpose_right},
                                    stream);
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
