// Optimizer, rung 2: all tensors in one launch.  SGD with momentum, as PyTorch computes it; fp32.
//
// Idea.        The tensors are cut into chunks of 2048 elements and numbered through; a block takes one
//              chunk and finds its tensor in a table on the device, by bisection over the tensors' first
//              chunks. Biases fill the gaps that large tensors leave, and the launch is paid for once.
// Bytes.       8 read and 4 written an element, with momentum 12 and 8; a few table rows a block, from
//              cache.
// Operations.  5 an element, with momentum 7.
// Bound.       Memory bandwidth.
#include <vector>

#include "hostcuda/portable/launch.h"
#include "kernels/optimizer/ladder.h"
#include "kernels/optimizer/sgd_update.cuh"

namespace lathe::kernels {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kChunk = 2048;
static_assert(kChunk % kThreads == 0, "a chunk is whole rounds of a block");

struct TableRow {
  SgdTensor tensor;
  int64_t first_chunk;
};

// A tensor without elements has no chunk; the one after it begins where it does, and is found.
template <bool kMomentum>
__global__ void sgd_02_all(const TableRow* table,  // [rows]
                           int64_t rows, const float* lr, const float* gradient_scale,
                           SgdOptions options LATHE_FLAT) {
  const auto chunk = int64_t(blockIdx.x);
  int64_t low = 0, high = rows;  // it lies in one of the tensors [low, high)
  while (high - low > 1) {
    const int64_t middle = (low + high) / 2;
    (table[middle].first_chunk <= chunk ? low : high) = middle;
  }
  const SgdTensor t = table[low].tensor;
  const int64_t begin = (chunk - table[low].first_chunk) * kChunk;
  const int64_t end = begin + kChunk < t.n ? begin + kChunk : t.n;
  const float rate = *lr, scale = *gradient_scale;
  for (int64_t i = begin + threadIdx.x; i < end; i += kThreads)
    sgd_update<kMomentum>(t.parameter, t.buffer, t.gradient, i, rate, scale, options);
}

}  // namespace

int64_t sgd_table_bytes(int64_t tensors) { return tensors * static_cast<int64_t>(sizeof(TableRow)); }

// The table changes only with the tensors' addresses: a training loop would copy it once.
void sgd_all_in_one_launch(const Sgd& p, cudaStream_t stream) {
  std::vector<TableRow> table;
  int64_t chunks = 0;
  for (const SgdTensor& t : p.tensors) {
    table.push_back({t, chunks});
    chunks += (t.n + kChunk - 1) / kChunk;
  }
  if (chunks == 0) return;
  const auto rows = static_cast<int64_t>(table.size());
  cudaMemcpyAsync(p.table, table.data(), static_cast<size_t>(sgd_table_bytes(rows)), cudaMemcpyHostToDevice,
                  stream);
  const auto* on_device = static_cast<const TableRow*>(p.table);
  const auto blocks = static_cast<unsigned int>(chunks);
  if (p.options.momentum != 0) {
    launch_flat<sgd_02_all<true>>(blocks, kThreads, stream, on_device, rows, p.lr, p.gradient_scale,
                                  p.options);
  } else {
    launch_flat<sgd_02_all<false>>(blocks, kThreads, stream, on_device, rows, p.lr, p.gradient_scale,
                                   p.options);
  }
}

}  // namespace lathe::kernels
