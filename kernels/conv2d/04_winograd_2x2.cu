// Convolution, rung 4: Winograd's F(2×2, 3×3).  y = conv(x, w) with 3×3 filters, NCHW, fp32.
//
// Idea.        Neighbouring outputs share inputs, and some of their multiplications can be exchanged for
//              additions: 2×2 outputs take 16 multiplications instead of 36. Filters and 4×4 tiles of x are
//              transformed, multiplied place by place, and the sums over channels are transformed back.
// Bytes.       4·(16/4)·(C/O + 1) an output written by the transforms, and as much read from them: V and M
//              are each 4 times as large as x and y. The product: 4·4·C·(1/64 + 1/64) an output.
// Operations.  2·4·C/groups an output in the product instead of 2·9·C/groups; 32 additions for 4×4 inputs
//              of a channel and 24 for 2×2 outputs besides, shared by all channels of the other side.
// Bound.       Memory for the transforms, as rung 3 for the product: it pays where C and O are large.
//
// Half-ones and ones lose little: errors are about those of rung 3. How it is done stands in winograd.cuh.
#include "kernels/conv2d/winograd.cuh"

namespace lathe::kernels {
namespace {

struct F2x2 {
  static constexpr int m = 2, t = 4;
  static_assert(t == m + 2, "3×3 filters");
  static constexpr __host__ __device__ float Bt(int i, int j) {
    constexpr float kBt[t][t] = {{1, 0, -1, 0},  //
                                 {0, 1, 1, 0},
                                 {0, -1, 1, 0},
                                 {0, 1, 0, -1}};
    return kBt[i][j];
  }
  static constexpr __host__ __device__ float G(int i, int j) {
    constexpr float kG[t][3] = {{1, 0, 0},  //
                                {0.5f, 0.5f, 0.5f},
                                {0.5f, -0.5f, 0.5f},
                                {0, 0, 1}};
    return kG[i][j];
  }
  static constexpr __host__ __device__ float At(int i, int j) {
    constexpr float kAt[m][t] = {{1, 1, 1, 0},  //
                                 {0, 1, -1, -1}};
    return kAt[i][j];
  }
};

}  // namespace

int64_t conv2d_winograd_2x2_workspace(const ConvShape& s) { return winograd_workspace<F2x2>(s); }

void conv2d_winograd_2x2(const Conv2d<float>& p, cudaStream_t stream) {
  launch_winograd<F2x2>(p, "conv2d_winograd_2x2", stream);
}

}  // namespace lathe::kernels
