// Winograd's fast convolution F(m×m, 3×3), which the rungs 4 and 5 share. The numbers of a transform stand in
// the rung that uses them.
//
// A tile of m×m outputs of one channel depends on t×t inputs, t = m + 2. With matrices A, B and G that depend
// on m alone (Lavin & Gray, Fast Algorithms for Convolutional Neural Networks, 2015):
//   y = Aᵀ · [ Σ_c (G · w_c · Gᵀ) ⊙ (Bᵀ · x_c · B) ] · A
// Only the product ⊙ of t×t numbers meets the channels: for each of the t² places it is a matrix product
// [O,C] · [C,tiles], and t² multiplications replace 9·m². Four kernels:
//   U [t²,O,C/groups] = G · w · Gᵀ        V [t²,C,tiles] = Bᵀ · x · B
//   M [t²,O,tiles]    = U · V             y = Aᵀ · M · A
#pragma once

#include "kernels/conv2d/requirements.h"
#include "kernels/conv2d/tiled_product.cuh"

namespace lathe::kernels {

// result [rows,rows] = matrix · from · matrixᵀ, from being [columns,columns]. matrix(i, j) is known when this
// is compiled, and its zeros cost nothing.
template <int rows, int columns, typename Matrix>
__device__ inline void transform(Matrix matrix, const float (&from)[columns][columns],
                                 float (&result)[rows][rows]) {
  float half[rows][columns];
  LATHE_UNROLL for (int i = 0; i < rows; ++i) {
    LATHE_UNROLL for (int j = 0; j < columns; ++j) {
      float sum = 0;
      LATHE_UNROLL for (int k = 0; k < columns; ++k) {
        if (matrix(i, k) != 0) sum += matrix(i, k) * from[k][j];
      }
      half[i][j] = sum;
    }
  }
  LATHE_UNROLL for (int i = 0; i < rows; ++i) {
    LATHE_UNROLL for (int j = 0; j < rows; ++j) {
      float sum = 0;
      LATHE_UNROLL for (int k = 0; k < columns; ++k) {
        if (matrix(j, k) != 0) sum += half[i][k] * matrix(j, k);
      }
      result[i][j] = sum;
    }
  }
}

template <typename F>
__global__ void winograd_filters(const float* __restrict__ w,  // [O,C/groups,3,3]
                                 float* __restrict__ U,        // [t²,O,C/groups]
                                 int64_t filters LATHE_FLAT) {
  const int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (index >= filters) return;
  float from[3][3], result[F::t][F::t];
  LATHE_UNROLL for (int i = 0; i < 9; ++i) from[i / 3][i % 3] = w[index * 9 + i];
  transform([](int i, int j) { return F::G(i, j); }, from, result);
  LATHE_UNROLL for (int i = 0; i < F::t * F::t; ++i) U[i * filters + index] = result[i / F::t][i % F::t];
}

// Tiles of a sample lie in rows; they overlap by 2 pixels.
template <typename F>
__global__ void winograd_inputs(const float* __restrict__ x,  // [N,C,H,W]
                                float* __restrict__ V,        // [t²,C,tiles]
                                ConvShape s, int64_t rows, int64_t columns LATHE_FLAT) {
  const int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t tiles = s.N * rows * columns;
  if (index >= s.C * tiles) return;
  const int64_t tile = index % tiles, c = index / tiles, n = tile / (rows * columns);
  const int64_t top = tile / columns % rows * F::m - s.padding_h, left = tile % columns * F::m - s.padding_w;
  const float* picture = x + (n * s.C + c) * s.H * s.W;

  float from[F::t][F::t], result[F::t][F::t];
  LATHE_UNROLL for (int i = 0; i < F::t; ++i) {
    LATHE_UNROLL for (int j = 0; j < F::t; ++j) {
      const int64_t h = top + i, v = left + j;
      from[i][j] = h >= 0 && h < s.H && v >= 0 && v < s.W ? picture[h * s.W + v] : 0;
    }
  }
  transform([](int i, int j) { return F::Bt(i, j); }, from, result);
  LATHE_UNROLL for (int i = 0; i < F::t * F::t; ++i) V[i * s.C * tiles + index] = result[i / F::t][i % F::t];
}

template <typename F>
__global__ void winograd_outputs(const float* __restrict__ M,  // [t²,O,tiles]
                                 float* __restrict__ y,        // [N,O,OH,OW]
                                 ConvShape s, int64_t rows, int64_t columns LATHE_FLAT) {
  const int64_t index = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  const int64_t tiles = s.N * rows * columns;
  if (index >= s.O * tiles) return;
  const int64_t tile = index % tiles, o = index / tiles, n = tile / (rows * columns);
  const int64_t top = tile / columns % rows * F::m, left = tile % columns * F::m;
  float* picture = y + (n * s.O + o) * s.OH * s.OW;

  float from[F::t][F::t], result[F::m][F::m];
  LATHE_UNROLL for (int i = 0; i < F::t * F::t; ++i) from[i / F::t][i % F::t] = M[i * s.O * tiles + index];
  transform([](int i, int j) { return F::At(i, j); }, from, result);
  LATHE_UNROLL for (int i = 0; i < F::m; ++i) {
    LATHE_UNROLL for (int j = 0; j < F::m; ++j) {
      if (top + i < s.OH && left + j < s.OW) picture[(top + i) * s.OW + left + j] = result[i][j];
    }
  }
}

// A matrix for each place and group, as an operand and as the result of the tiled product.
template <bool contiguous_k>
struct Matrices {
  static constexpr bool k_is_contiguous = contiguous_k;
  const float* data;  // [batches, outers, K] where k is contiguous, else [batches, K, outers]
  int64_t outers, K;

  struct Outer {
    const float* first;  // null outside
  };
  using Inner = int64_t;
  __device__ Outer outer(int64_t batch, int64_t o) const {
    return {o < outers ? data + batch * outers * K + o * (contiguous_k ? K : 1) : nullptr};
  }
  __device__ Inner inner(int64_t k) const { return k; }
  __device__ float load(const Outer& at, Inner k) const {
    return at.first && k < K ? at.first[contiguous_k ? k : k * outers] : 0;
  }
};

struct Products {
  float* data;  // [batches, M, N]
  int64_t M, N;
  __device__ void store(int64_t batch, int64_t m, int64_t n, float value) const {
    if (m < M && n < N) data[(batch * M + m) * N + n] = value;
  }
};

template <typename F>
struct WinogradTiles {
  explicit WinogradTiles(const ConvShape& s)
      : rows((s.OH + F::m - 1) / F::m), columns((s.OW + F::m - 1) / F::m), count(s.N * rows * columns) {}
  int64_t rows, columns, count;
};

template <typename F>
int64_t winograd_workspace(const ConvShape& s) {
  const int64_t tiles = WinogradTiles<F>(s).count;
  return F::t * F::t * (s.O * s.group_inputs() + (s.C + s.O) * tiles) * int64_t{sizeof(float)};
}

template <typename F>
void launch_winograd(const Conv2d<float>& p, const char* rung, cudaStream_t stream) {
  const ConvShape& s = p.shape;
  require(s.kernel_h == 3 && s.kernel_w == 3 && s.stride_h == 1 && s.stride_w == 1 && s.dilation_h == 1 &&
              s.dilation_w == 1 && p.layout == ConvLayout::nchw,
          rung, p, "3x3 kernels, stride 1, dilation 1, nchw");
  constexpr int kPlaces = F::t * F::t, kThreads = 128;
  const WinogradTiles<F> tiles(s);
  float* U = p.workspace;
  float* V = U + kPlaces * s.O * s.group_inputs();
  float* M = V + kPlaces * s.C * tiles.count;

  const int64_t filters = s.O * s.group_inputs();
  launch_flat<winograd_filters<F>>(blocks_for(filters, kThreads), kThreads, stream, p.w, U, filters);
  launch_flat<winograd_inputs<F>>(blocks_for(s.C * tiles.count, kThreads), kThreads, stream, p.x, V, s,
                                  tiles.rows, tiles.columns);
  launch_tiled_product(Matrices<true>{U, s.group_outputs(), s.group_inputs()},
                       Matrices<false>{V, tiles.count, s.group_inputs()},
                       Products{M, s.group_outputs(), tiles.count}, kPlaces * s.groups, s.group_outputs(),
                       tiles.count, s.group_inputs(), stream);
  launch_flat<winograd_outputs<F>>(blocks_for(s.O * tiles.count, kThreads), kThreads, stream, M, p.y, s,
                                   tiles.rows, tiles.columns);
}

}  // namespace lathe::kernels
