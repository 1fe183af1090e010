// The factor that every gradient is multiplied by before the update: loss scaling undone, norm clipped. The
// norm is over all parameters, so it is summed over many tensors.
//
// Idea.   A warp walks a chunk of 32 columns × 128 rows, each thread one column: neighbouring threads read
//         neighbouring elements, no thread waits for another, and the order depends on n alone. Two such
//         levels leave one thread with n / 16384 sums.
// Bytes.  4 read an element, two operations in double (a square of a float never overflows there).
// Bound.  Memory bandwidth.
#include <cmath>

#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/optimizer.h"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;

// sums[chunk · kSumLanes + lane] = Σ over the chunk's rows of x, or of x².
template <typename T, bool kSquare>
__global__ void sum_columns(const T* x, int64_t n, double* sums, int64_t count LATHE_FLAT) {
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int64_t begin = i / kSumLanes * kSumChunk + i % kSumLanes;
  int64_t end = begin + kSumChunk < n ? begin + kSumChunk : n;
  double sum = 0;
  for (int64_t k = begin; k < end; k += kSumLanes) {
    auto value = static_cast<double>(x[k]);
    sum += kSquare ? value * value : value;
  }
  sums[i] = sum;
}

__global__ void finish_scale(const double* sums, int64_t count, const float* loss_scale, double max_norm,
                             float* scale LATHE_FLAT) {
  if (threadIdx.x != 0) return;
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) sum += sums[i];
  auto loss = static_cast<double>(*loss_scale);
  double norm = sqrt(sum) / loss;
  double clip = max_norm > 0 && norm > max_norm ? max_norm / norm : 1;
  bool good = isfinite(norm) && isfinite(loss) && loss > 0;
  scale[0] = good ? static_cast<float>(clip / loss) : NAN;
}

template <typename T, bool kSquare>
void sum_level(const T* x, int64_t n, double* sums, cudaStream_t stream) {
  int64_t count = square_sum_count(n);
  launch_flat<sum_columns<T, kSquare>>(blocks_for(count, kThreads), kThreads, stream, x, n, sums, count);
}

}  // namespace

void square_sums(const float* x, int64_t n, double* sums, cudaStream_t stream) {
  sum_level<float, true>(x, n, sums, stream);
}

void gradient_scale(const double* sums, int64_t n, double* scratch, const float* loss_scale, double max_norm,
                    float* scale, cudaStream_t stream) {
  sum_level<double, false>(sums, n, scratch, stream);
  launch_flat<finish_scale>(1, 1, stream, scratch, square_sum_count(n), loss_scale, max_norm, scale);
}

}  // namespace lathe::kernels
