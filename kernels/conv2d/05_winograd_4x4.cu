// Convolution, rung 5: Winograd's F(4×4, 3×3).  y = conv(x, w) with 3×3 filters, NCHW, fp32.
//
// Idea.        Rung 4 with larger tiles: 4×4 outputs from 6×6 inputs take 36 multiplications instead of 144,
//              a quarter, and the transformed tensors are smaller too, because tiles overlap less.
// Bytes.       4·(36/16)·(C/O + 1) an output written by the transforms, and as much read from them; the
//              product: 4·(36/16)·C·(1/64 + 1/64) an output.
// Operations.  2·(36/16)·C/groups an output in the product instead of 2·9·C/groups; the transforms take some
//              340 operations for 6×6 inputs of a channel and 200 for 4×4 outputs besides.
// Bound.       As rung 4. Larger tiles still would save less than they lose in digits.
//
// The transforms multiply by up to 8 and divide by up to 24, and large numbers cancel when the outputs are
// formed: about one decimal digit is lost. With 64 to 129 channels of numbers in [-1, 1) the error is 9e-6
// (root of the mean square), where rungs 1 to 4 have 1e-6. In fp16 it would not do.
#include "kernels/conv2d/winograd.cuh"

namespace lathe::kernels {
namespace {

struct F4x4 {
  static constexpr int m = 4, t = 6;
  static_assert(t == m + 2, "3×3 filters");
  static constexpr __host__ __device__ float Bt(int i, int j) {
    constexpr float kBt[t][t] = {{4, 0, -5, 0, 1, 0},  //
                                 {0, -4, -4, 1, 1, 0}, {0, 4, -4, -1, 1, 0}, {0, -2, -1, 2, 1, 0},
                                 {0, 2, -1, -2, 1, 0}, {0, 4, 0, -5, 0, 1}};
    return kBt[i][j];
  }
  static constexpr __host__ __device__ float G(int i, int j) {
    constexpr float kG[t][3] = {{1.0f / 4, 0, 0},  //
                                {-1.0f / 6, -1.0f / 6, -1.0f / 6},
                                {-1.0f / 6, 1.0f / 6, -1.0f / 6},
                                {1.0f / 24, 1.0f / 12, 1.0f / 6},
                                {1.0f / 24, -1.0f / 12, 1.0f / 6},
                                {0, 0, 1}};
    return kG[i][j];
  }
  static constexpr __host__ __device__ float At(int i, int j) {
    constexpr float kAt[m][t] = {{1, 1, 1, 1, 1, 0},  //
                                 {0, 1, -1, 2, -2, 0},
                                 {0, 1, 1, 4, 4, 0},
                                 {0, 1, -1, 8, -8, 1}};
    return kAt[i][j];
  }
};

}  // namespace

int64_t conv2d_winograd_4x4_workspace(const ConvShape& s) { return winograd_workspace<F4x4>(s); }

void conv2d_winograd_4x4(const Conv2d<float>& p, cudaStream_t stream) {
  launch_winograd<F4x4>(p, "conv2d_winograd_4x4", stream);
}

}  // namespace lathe::kernels
