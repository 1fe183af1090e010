// The tiled matrix product that the convolutions share:  C[b][m,n] = Σ_k A[b][m,k] · B[b][k,n], fp32, where A
// and B are given by how an element is fetched, so that B need never be stored.
//
// Idea.   A block of 256 threads makes a 64×64 tile of C. It loads a 64×16 tile of A and of B into shared
//         memory, waits, and multiplies; each thread keeps a 4×4 piece of C in registers, so that 8 values
//         read from shared memory feed 16 multiply-adds.
// Bytes.  4·M·N·K·(1/64 + 1/64) from global memory instead of 4·M·N·K·2.
// Bound.  Latency: nothing is loaded while the block multiplies (double buffering is a later rung).
//
// A product with few tiles and a long K leaves most of a GPU idle. K can then be cut into slices, each a
// product of its own, whose results the caller adds.
//
// An operand is a struct, copied to the device, with
//   k_is_contiguous          static constexpr bool: whether neighbouring k (else neighbouring m or n) are
//                            neighbours in memory: neighbouring threads load along that axis
//   Outer outer(batch, o)    what is worth knowing about row m of A or column n of B; computed once
//   Inner inner(k)           the same for k; computed once for each tile where k is contiguous, else for each
//                            element
//   load(outer, inner)       the element as float; 0 outside the matrix
// and a result has store(b, m, n, value), b = batch · slices + slice, which ignores positions outside C.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>

#include "hostcuda/portable/launch.h"

namespace lathe::kernels {

constexpr int kTile = 64;   // rows and columns of C that a block makes
constexpr int kDepth = 16;  // k of one tile of A and B
constexpr int kPiece = 4;   // rows and columns of C that a thread makes
constexpr int kProductThreads = (kTile / kPiece) * (kTile / kPiece);
constexpr int kLoads = kTile * kDepth / kProductThreads;  // elements of each operand that a thread loads
constexpr int kPitch = kTile + 4;  // one row of a tile: storing along k would hit one bank 16 times, now 2

static_assert(kPiece == 4, "a thread reads its rows and columns as one float4");
static_assert(kPitch % 4 == 0, "float4 reads are 16-byte aligned");
static_assert(kProductThreads % kTile == 0 && kProductThreads % kDepth == 0,
              "every thread loads equally much");

// One thread's share of loading an operand's tiles, stored as tile[k][m or n].
template <typename Operand>
class TileLoader {
 public:
  __device__ TileLoader(const Operand& operand, int64_t batch, int64_t first) : operand_(operand) {
    const int thread = static_cast<int>(threadIdx.x);
    row_ = Operand::k_is_contiguous ? thread / kDepth : thread % kTile;
    depth_ = Operand::k_is_contiguous ? thread % kDepth : thread / kTile;
    for (int i = 0; i < kOuters; ++i) outer_[i] = operand.outer(batch, first + row_ + i * kRowStep);
  }

  __device__ void load(int64_t k, float (*tile)[kPitch]) const {
    if constexpr (Operand::k_is_contiguous) {
      const auto inner = operand_.inner(k + depth_);
      for (int i = 0; i < kLoads; ++i) tile[depth_][row_ + i * kRowStep] = operand_.load(outer_[i], inner);
    } else {
      for (int i = 0; i < kLoads; ++i) {
        tile[depth_ + i * kDepthStep][row_] =
            operand_.load(outer_[0], operand_.inner(k + depth_ + i * kDepthStep));
      }
    }
  }

 private:
  static constexpr int kOuters = Operand::k_is_contiguous ? kLoads : 1;
  static constexpr int kRowStep = kProductThreads / kDepth;
  static constexpr int kDepthStep = kProductThreads / kTile;
  const Operand& operand_;
  typename Operand::Outer outer_[kOuters];
  int row_, depth_;
};

template <typename A, typename B, typename C>
__global__ void __launch_bounds__(kProductThreads, 2)
    tiled_product(A a, B b, C c, int64_t tiles_m, int64_t tiles_n, int64_t slices, int64_t slice_depth,
                  int64_t K) {
  __shared__ __align__(16) float a_tile[kDepth][kPitch];
  __shared__ __align__(16) float b_tile[kDepth][kPitch];

  const int64_t first_n = blockIdx.x % tiles_n * kTile;
  const int64_t first_m = blockIdx.x / tiles_n % tiles_m * kTile;
  const int64_t slice = blockIdx.x / tiles_n / tiles_m % slices;
  const int64_t batch = blockIdx.x / tiles_n / tiles_m / slices;
  const int64_t end_k = slice_depth < K - slice * slice_depth ? (slice + 1) * slice_depth : K;
  const TileLoader<A> a_loader(a, batch, first_m);
  const TileLoader<B> b_loader(b, batch, first_n);
  const int m =
      static_cast<int>(threadIdx.x) / (kTile / kPiece) * kPiece;  // of this thread's piece in the tile
  const int n = static_cast<int>(threadIdx.x) % (kTile / kPiece) * kPiece;

  float sum[kPiece][kPiece] = {};
  for (int64_t k = slice * slice_depth; k < end_k; k += kDepth) {
    a_loader.load(k, a_tile);
    b_loader.load(k, b_tile);
    __syncthreads();
    for (int depth = 0; depth < kDepth; ++depth) {
      const float4 a4 = *reinterpret_cast<const float4*>(&a_tile[depth][m]);
      const float4 b4 = *reinterpret_cast<const float4*>(&b_tile[depth][n]);
      const float column[kPiece] = {a4.x, a4.y, a4.z, a4.w}, row[kPiece] = {b4.x, b4.y, b4.z, b4.w};
      for (int i = 0; i < kPiece; ++i) {
        for (int j = 0; j < kPiece; ++j) sum[i][j] += column[i] * row[j];
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < kPiece; ++i) {
    for (int j = 0; j < kPiece; ++j)
      c.store(batch * slices + slice, first_m + m + i, first_n + n + j, sum[i][j]);
  }
}

// C[b][M,N] = A[b][M,K] · B[b][K,N] for b in [0, batches).
template <typename A, typename B, typename C>
void launch_tiled_product(const A& a, const B& b, const C& c, int64_t batches, int64_t M, int64_t N,
                          int64_t K, cudaStream_t stream, int64_t slices = 1) {
  const int64_t tiles_m = (M + kTile - 1) / kTile, tiles_n = (N + kTile - 1) / kTile;
  const int64_t slice_depth = (K + slices * kDepth - 1) / (slices * kDepth) * kDepth;  // whole tiles
  launch<tiled_product<A, B, C>>(dim3(static_cast<unsigned>(batches * slices * tiles_m * tiles_n)),
                                 dim3(kProductThreads), 0, stream, a, b, c, tiles_m, tiles_n, slices,
                                 slice_depth, K);
}

}  // namespace lathe::kernels
