// ldmatrix, mma and wmma: every element of every fragment against the PTX ISA's formulas, in two warps with
// data of their own and in every order of threads; and what a wrong use is told.
#include "hostcuda/portable/tensor_core.h"

#include <gtest/gtest.h>
#include <mma.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "hostcuda/hostcuda.h"
#include "hostcuda/portable/launch.h"
#include "tests/hostcuda/device_array.h"

namespace {

namespace wmma = nvcuda::wmma;
using lathe::launch;
using lathe::mma_m16n8k16;

constexpr const char* kOrders[] = {"forward", "reverse", "random:1", "random:2", "random:3"};
constexpr int kWarps = 2, kThreads = 32 * kWarps, kBlocks = 2;

class TensorCores : public testing::Test {
 protected:
  void SetUp() override { hostcuda::reset_for_tests(); }
  void TearDown() override { hostcuda::reset_for_tests(); }

  template <typename Check>
  void in_every_order(Check check) {
    for (const char* order : kOrders) {
      SCOPED_TRACE(order);
      hostcuda::set_thread_order(order);
      check();
    }
  }
  template <auto Kernel, typename... Args>
  std::string complaint(int threads, Args... args) {
    testing::internal::CaptureStderr();
    EXPECT_EQ(launch<Kernel>(1, threads, 0, nullptr, args...), cudaSuccess);
    cudaDeviceSynchronize();
    hostcuda::reset_for_tests();
    return testing::internal::GetCapturedStderr();
  }
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

// Whole numbers: their products add up to the same in every order.
std::vector<float> whole_numbers(size_t count, unsigned int seed) {
  std::mt19937 generator(seed);
  std::vector<float> values(count);
  for (float& value : values) value = static_cast<float>(static_cast<int>(generator() % 17) - 8);
  return values;
}
template <typename T>
std::vector<T> rounded(const std::vector<float>& values) {
  std::vector<T> result(values.size());
  std::transform(values.begin(), values.end(), result.begin(), [](float value) { return T(value); });
  return result;
}
// d[M,N] = a[M,K] · b[K,N] + c[M,N], one after another in each array.
std::vector<float> products(const std::vector<float>& a, const std::vector<float>& b,
                            const std::vector<float>& c, int M, int N, int K) {
  std::vector<float> d = c;
  for (size_t i = 0; i < d.size(); ++i) {
    const int p = i / (M * N), m = i / N % M, n = i % N;
    for (int k = 0; k < K; ++k) d[i] += a[(p * M + m) * K + k] * b[(p * K + k) * N + n];
  }
  return d;
}

// Each warp loads its own `count` matrices; rows are 16 bytes, in a shuffled order.
template <int count, bool transposed>
__global__ void load(const uint16_t* x, uint32_t* registers) {
  alignas(16) __shared__ uint16_t tile[kWarps][32][8];
  const int warp = threadIdx.x / 32, lane = threadIdx.x % 32, thread = blockIdx.x * kThreads + threadIdx.x;
  const int at = (lane * 5 + 3) % 32;
  for (int i = 0; i < 8; ++i) tile[warp][at][i] = x[thread * 8 + i];
  __syncthreads();
  const void* row = lane < 8 * count ? tile[warp][at] : nullptr;  // the others' addresses are not looked at
  uint32_t r[count];
  if constexpr (count == 1) transposed ? lathe::ldmatrix_x1_trans(r, row) : lathe::ldmatrix_x1(r, row);
  if constexpr (count == 2) transposed ? lathe::ldmatrix_x2_trans(r, row) : lathe::ldmatrix_x2(r, row);
  if constexpr (count == 4) transposed ? lathe::ldmatrix_x4_trans(r, row) : lathe::ldmatrix_x4(r, row);
  for (int i = 0; i < count; ++i) registers[thread * count + i] = r[i];
}

template <int count, bool transposed>
void expect_load() {
  std::vector<uint16_t> x(kBlocks * kThreads * 8);
  for (size_t i = 0; i < x.size(); ++i) x[i] = static_cast<uint16_t>(i);
  DeviceArray<uint16_t> X(x);
  DeviceArray<uint32_t> R(kBlocks * kThreads * count);
  ASSERT_EQ((launch<load<count, transposed>>(kBlocks, kThreads, 0, nullptr, X.data(), R.data())),
            cudaSuccess);
  const std::vector<uint32_t> r = R.host();
  for (int thread = 0; thread < kBlocks * kThreads; ++thread) {
    const int first_row = thread / 32 * 32, g = thread % 32 / 4, t = thread % 4;
    for (int j = 0; j < count; ++j) {
      for (int i = 0; i < 2; ++i) {
        const int row = transposed ? 2 * t + i : g, column = transposed ? g : 2 * t + i;
        ASSERT_EQ(r[thread * count + j] >> 16 * i & 0xffff, x[(first_row + 8 * j + row) * 8 + column])
            << "thread " << thread << " register " << j << " half " << i;
      }
    }
  }
}

TEST_F(TensorCores, LdmatrixFollowsPtx) {
  in_every_order([] {
    expect_load<1, false>();
    expect_load<2, false>();
    expect_load<4, false>();
    expect_load<1, true>();
    expect_load<2, true>();
    expect_load<4, true>();
  });
}

// The registers are filled by the formulas of PTX ISA 9.7.14, "Matrix fragments for mma.m16n8k16".
template <typename T>
__global__ void multiply(const T* A, const T* B, float* D) {
  const int warp = blockIdx.x * kWarps + threadIdx.x / 32, lane = threadIdx.x % 32;
  const int group = lane >> 2, in_group = lane & 3;
  uint32_t a[4], b[2];
  for (int i = 0; i < 8; ++i) {
    const int row = (i < 2 || (i >= 4 && i < 6)) ? group : group + 8;
    const int column = in_group * 2 + (i & 1) + (i >= 4 ? 8 : 0);
    const uint32_t code = A[warp * 256 + row * 16 + column].code;
    a[i / 2] = i % 2 == 0 ? code : a[i / 2] | code << 16;
  }
  for (int i = 0; i < 4; ++i) {
    const int row = in_group * 2 + (i & 1) + (i >= 2 ? 8 : 0);
    const uint32_t code = B[warp * 128 + row * 8 + group].code;
    b[i / 2] = i % 2 == 0 ? code : b[i / 2] | code << 16;
  }
  float d[4];
  float* to[4];
  for (int i = 0; i < 4; ++i) {
    const int row = i < 2 ? group : group + 8, column = in_group * 2 + (i & 1);
    to[i] = &D[warp * 128 + row * 8 + column];
    d[i] = *to[i];
  }
  mma_m16n8k16<T>(d, a, b);
  for (int i = 0; i < 4; ++i) *to[i] = d[i];
}

// The same with ldmatrix; B is stored [k][n], or [n][k].
template <typename T, bool b_by_columns>
__global__ void load_and_multiply(const T* A, const T* B, float* D) {
  alignas(16) __shared__ T a_tile[kWarps][16][24], b_tile[kWarps][16][24];
  const int w = threadIdx.x / 32, warp = blockIdx.x * kWarps + w, lane = threadIdx.x % 32;
  for (int i = lane; i < 256; i += 32) a_tile[w][i / 16][i % 16] = A[warp * 256 + i];
  for (int i = lane; i < 128; i += 32) {
    (b_by_columns ? b_tile[w][i % 8][i / 8] : b_tile[w][i / 8][i % 8]) = B[warp * 128 + i];
  }
  __syncwarp();
  uint32_t a[4], b[2];
  lathe::ldmatrix_x4(a, &a_tile[w][lane % 16][lane / 16 * 8]);
  if (b_by_columns) {
    lathe::ldmatrix_x2(b, &b_tile[w][lane % 8][lane / 8 % 2 * 8]);
  } else {
    lathe::ldmatrix_x2_trans(b, &b_tile[w][lane % 16][0]);
  }
  float* corner = &D[warp * 128 + lane / 4 * 8 + lane % 4 * 2];
  float d[4] = {corner[0], corner[1], corner[64], corner[65]};
  mma_m16n8k16<T>(d, a, b);
  corner[0] = d[0], corner[1] = d[1], corner[64] = d[2], corner[65] = d[3];
}

// Arrays of operands: D[48,32] = A[48,16] · B[16,32] + C, three tiles of A by two pairs of tiles of B.
template <typename T>
__global__ void multiply_arrays(const T* A, const T* B, float* D) {
  alignas(16) __shared__ T a_tile[kWarps][48][24], b_tile[kWarps][16][40];
  const int w = threadIdx.x / 32, warp = blockIdx.x * kWarps + w, lane = threadIdx.x % 32;
  for (int i = lane; i < 48 * 16; i += 32) a_tile[w][i / 16][i % 16] = A[warp * 48 * 16 + i];
  for (int i = lane; i < 16 * 32; i += 32) b_tile[w][i / 32][i % 32] = B[warp * 16 * 32 + i];
  __syncwarp();
  uint32_t a[3][4], b[2][4];
  lathe::ldmatrix_x4(a, [&](int i) { return &a_tile[w][i * 16 + lane % 16][lane / 16 * 8]; });
  lathe::ldmatrix_x4_trans(b, [&](int j) { return &b_tile[w][lane % 16][j * 16 + lane / 16 * 8]; });
  float d[3][4][4];
  float* corner = &D[warp * 48 * 32 + lane / 4 * 32 + lane % 4 * 2];
  for (int i = 0; i < 48; ++i)
    d[i / 16][i / 4 % 4][i % 4] = corner[(i / 16 * 16 + i % 4 / 2 * 8) * 32 + i / 4 % 4 * 8 + i % 2];
  mma_m16n8k16<T>(d, a, b);
  for (int i = 0; i < 48; ++i)
    corner[(i / 16 * 16 + i % 4 / 2 * 8) * 32 + i / 4 % 4 * 8 + i % 2] = d[i / 16][i / 4 % 4][i % 4];
}

template <typename T>
void expect_array_products() {
  const auto a = whole_numbers(kBlocks * kWarps * 48 * 16, 1),
             b = whole_numbers(kBlocks * kWarps * 16 * 32, 2),
             c = whole_numbers(kBlocks * kWarps * 48 * 32, 3), expected = products(a, b, c, 48, 32, 16);
  DeviceArray<T> A(rounded<T>(a)), B(rounded<T>(b));
  DeviceArray<float> D(c);
  ASSERT_EQ(launch<multiply_arrays<T>>(kBlocks, kThreads, 0, nullptr, A.data(), B.data(), D.data()),
            cudaSuccess);
  EXPECT_EQ(D.host(), expected);
}

TEST_F(TensorCores, ArraysOfOperands) {
  in_every_order([] {
    expect_array_products<__half>();
    expect_array_products<__nv_bfloat16>();
  });
}

template <typename T>
void expect_products() {
  const auto a = whole_numbers(kBlocks * kWarps * 256, 1), b = whole_numbers(kBlocks * kWarps * 128, 2),
             c = whole_numbers(kBlocks * kWarps * 128, 3), expected = products(a, b, c, 16, 8, 16);
  DeviceArray<T> A(rounded<T>(a)), B(rounded<T>(b));
  for (auto kernel : {multiply<T>, load_and_multiply<T, false>, load_and_multiply<T, true>}) {
    DeviceArray<float> D(c);
    ASSERT_EQ(launch(kernel, kBlocks, kThreads, 0, nullptr, A.data(), B.data(), D.data()), cudaSuccess);
    EXPECT_EQ(D.host(), expected);
  }
}

TEST_F(TensorCores, MmaFollowsPtx) {
  in_every_order([] {
    expect_products<__half>();
    expect_products<__nv_bfloat16>();
  });
}

// Products and sums are not rounded to 16 bit, and special values go through.
TEST_F(TensorCores, MmaAddsInFp32) {
  std::vector<float> a(kBlocks * kWarps * 256), b(kBlocks * kWarps * 128), c(kBlocks * kWarps * 128);
  for (size_t i = 0; i < a.size(); i += 256) {
    a[i] = 1 + 0x1p-7f, b[i / 2] = 1 + 0x1p-7f;        // D[0][0] = 1 + 2⁻⁶ + 2⁻¹⁴
    a[i + 16] = INFINITY, b[i / 2 + 1] = 0;            // D[1][0] = ∞, D[1][1] = NaN
    c[i / 2 + 2 * 8] = 3e38f, a[i + 2 * 16] = -0.0f;   // D[2][0] = 3e38
    a[i + 3 * 16] = 0x1p-14f, b[i / 2 + 2] = 0x1p-9f;  // D[3][2] = 2⁻²³: not a 16-bit number
  }
  DeviceArray<__half> A(rounded<__half>(a)), B(rounded<__half>(b));
  DeviceArray<float> D(c);
  ASSERT_EQ(launch<multiply<__half>>(kBlocks, kThreads, 0, nullptr, A.data(), B.data(), D.data()),
            cudaSuccess);
  const std::vector<float> d = D.host();
  for (size_t i = 0; i < d.size(); i += 128) {
    EXPECT_EQ(d[i], 1 + 0x1p-6f + 0x1p-14f);
    EXPECT_EQ(d[i + 8], INFINITY);
    EXPECT_TRUE(std::isnan(d[i + 9]));
    EXPECT_EQ(d[i + 16], 3e38f);
    EXPECT_EQ(d[i + 26], 0x1p-23f);
  }
}

// D = scale · (A · B + C): through fragments of every layout, rows or columns `leading` apart.
template <typename T, typename ALayout, typename BLayout>
__global__ void multiply_fragments(const T* A, const T* B, float* C, unsigned int leading,
                                   wmma::layout_t layout, float scale) {
  const int warp = blockIdx.x * kWarps + threadIdx.x / 32;
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, ALayout> a;
  wmma::fragment<wmma::matrix_b, 16, 16, 16, T, BLayout> b;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c, d;
  wmma::fill_fragment(d, 1000.0f);
  wmma::load_matrix_sync(a, A + warp * 16 * leading, leading);
  wmma::load_matrix_sync(b, B + warp * 16 * leading, leading);
  wmma::load_matrix_sync(c, C + warp * 16 * leading, leading, layout);
  wmma::mma_sync(d, a, b, c);
  for (int i = 0; i < d.num_elements; ++i) d.x[i] = scale * d.x[i];
  wmma::store_matrix_sync(C + warp * 16 * leading, d, leading, layout);
}

// 16×16 matrices, stored as told with `leading` elements between lines; gaps hold −99.
std::vector<float> stored(const std::vector<float>& matrices, int leading, bool by_columns) {
  std::vector<float> result(matrices.size() / 16 * leading, -99);
  for (size_t i = 0; i < matrices.size(); ++i) {
    const size_t p = i / 256, row = i / 16 % 16, column = i % 16;
    result[(p * 16 + (by_columns ? column : row)) * leading + (by_columns ? row : column)] = matrices[i];
  }
  return result;
}

template <typename T, typename ALayout, typename BLayout>
void expect_fragments() {
  constexpr bool kA = std::is_same_v<ALayout, wmma::col_major>, kB = std::is_same_v<BLayout, wmma::col_major>;
  const auto a = whole_numbers(kBlocks * kWarps * 256, 1), b = whole_numbers(a.size(), 2),
             c = whole_numbers(a.size(), 3);
  std::vector<float> expected = products(a, b, c, 16, 16, 16);
  for (float& value : expected) value *= -2;
  for (int leading : {16, 24, 40}) {
    for (bool columns : {false, true}) {
      DeviceArray<T> A(rounded<T>(stored(a, leading, kA))), B(rounded<T>(stored(b, leading, kB)));
      DeviceArray<float> C(stored(c, leading, columns));
      ASSERT_EQ((launch<multiply_fragments<T, ALayout, BLayout>>(
                    kBlocks, kThreads, 0, nullptr, A.data(), B.data(), C.data(), leading,
                    columns ? wmma::mem_col_major : wmma::mem_row_major, -2)),
                cudaSuccess);
      EXPECT_EQ(C.host(), stored(expected, leading, columns)) << leading << (columns ? " by columns" : "");
    }
  }
}

TEST_F(TensorCores, WmmaInEveryLayout) {
  in_every_order([] {
    expect_fragments<__half, wmma::row_major, wmma::row_major>();
    expect_fragments<__half, wmma::row_major, wmma::col_major>();
    expect_fragments<__nv_bfloat16, wmma::col_major, wmma::row_major>();
    expect_fragments<__nv_bfloat16, wmma::col_major, wmma::col_major>();
  });
}

// y = the fragments' elements, lane by lane.
template <typename T>
__global__ void elements(const T* x, const float* c, float* y_a, float* y_c) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, T, wmma::row_major> a;
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> sum;
  wmma::load_matrix_sync(a, x, 16);
  wmma::load_matrix_sync(sum, c, 16, wmma::mem_row_major);
  for (int i = 0; i < a.num_elements; ++i) y_a[threadIdx.x * a.num_elements + i] = float(a.x[i]);
  for (int i = 0; i < sum.num_elements; ++i) y_c[threadIdx.x * sum.num_elements + i] = sum.x[i];
}

template <typename T>
void expect_opaque_elements(int copies) {
  std::vector<float> numbers(256);
  for (int i = 0; i < 256; ++i) numbers[i] = static_cast<float>(i);
  DeviceArray<T> X(rounded<T>(numbers));
  DeviceArray<float> C(numbers), A(256 * copies), Y(256);
  ASSERT_EQ(launch<elements<T>>(1, 32, 0, nullptr, X.data(), C.data(), A.data(), Y.data()), cudaSuccess);
  std::vector<float> a = A.host(), c = Y.host();
  EXPECT_NE(std::vector<float>(a.begin(), a.begin() + 8), std::vector<float>(c.begin(), c.begin() + 8));
  EXPECT_NE(a[1], a[0] + 1);
  std::sort(a.begin(), a.end());
  std::sort(c.begin(), c.end());
  EXPECT_EQ(c, numbers);
  for (int i = 0; i < 256 * copies; ++i) EXPECT_EQ(a[i], numbers[i / copies]);
}

TEST_F(TensorCores, FragmentsHoldEveryElementSomewhere) {
  expect_opaque_elements<__half>(2);
  expect_opaque_elements<__nv_bfloat16>(1);
}

__global__ void some_lanes(int kind) {
  alignas(16) __shared__ uint16_t tile[8][8];
  const int lane = threadIdx.x % 32;
  uint32_t r[1], a[4] = {}, b[2] = {};
  float d[4] = {};
  if (kind == 1 && threadIdx.x == 37) return;
  if (kind == 2 && lane == 3) {
    lathe::ldmatrix_x1(r, tile[lane]);
  } else if (kind == 3 && lane < 16) {
    mma_m16n8k16<__half>(d, a, b);
  } else if (kind == 4 && lane == 31) {
    __syncwarp();
  } else {
    lathe::ldmatrix_x1(r, tile[lane % 8]);
  }
}

TEST_F(TensorCores, LanesThatDoNotTakePartAreNamed) {
  EXPECT_EQ(complaint<some_lanes>(64, 0), "");
  for (const char* order : kOrders) {
    hostcuda::set_thread_order(order);
    EXPECT_HAS(complaint<some_lanes>(64, 1), "lane 5 is missing: every lane of the warp must take part");
  }
  EXPECT_HAS(complaint<some_lanes>(48, 0), "lane 16 is missing");
  const std::string two_sites = complaint<some_lanes>(64, 2);
  EXPECT_HAS(two_sites, "some_lanes, block (0,0,0), thread ");
  EXPECT_HAS(two_sites, "ldmatrix at ");
  EXPECT_HAS(two_sites, "but thread ");
  EXPECT_HAS(two_sites, "tensor_core_test.cu:");
  const std::string two_kinds = complaint<some_lanes>(64, 3);
  EXPECT_HAS(two_kinds, "ldmatrix at ");
  EXPECT_HAS(two_kinds, "waits at mma");
  EXPECT_HAS(complaint<some_lanes>(64, 4), "waits at __syncwarp");
}

__global__ void row_at(int lane, int shift) {
  alignas(16) __shared__ char tile[64 * 16];
  uint32_t r[2];
  lathe::ldmatrix_x2(r, &tile[threadIdx.x * 16 + (threadIdx.x == 32u + lane ? shift : 0)]);
}

TEST_F(TensorCores, MisalignedRowsAreNamed) {
  EXPECT_HAS(complaint<row_at>(64, 15, 8), "thread (47,0,0): ldmatrix at ");
  EXPECT_HAS(complaint<row_at>(64, 15, 8), "is not a multiple of 16");
  EXPECT_EQ(complaint<row_at>(64, 16, 8), "");  // this lane's address is not used
}

__global__ void fragment_at(__half* x, int shift, unsigned int leading, int differs) {
  wmma::fragment<wmma::matrix_a, 16, 16, 16, __half, wmma::row_major> a;
  wmma::load_matrix_sync(a, x + shift + (threadIdx.x == 40 ? differs : 0), leading);
}
__global__ void accumulator_at(float* x, int shift, unsigned int leading) {
  wmma::fragment<wmma::accumulator, 16, 16, 16, float> c;
  wmma::fill_fragment(c, 0.0f);
  wmma::store_matrix_sync(x + shift, c, leading, wmma::mem_row_major);
}

TEST_F(TensorCores, MisplacedFragmentsAreNamed) {
  DeviceArray<__half> x(4096);
  DeviceArray<float> y(4096);
  EXPECT_EQ(complaint<fragment_at>(64, x.data(), 16, 24, 0), "");
  EXPECT_HAS(complaint<fragment_at>(64, x.data(), 8, 24, 0), "wmma::load_matrix_sync at ");
  EXPECT_HAS(complaint<fragment_at>(64, x.data(), 8, 24, 0), "is not a multiple of 32");
  EXPECT_HAS(complaint<fragment_at>(64, x.data(), 0, 20, 0), "leading dimension 20 is not a multiple of 8");
  EXPECT_HAS(complaint<fragment_at>(64, x.data(), 0, 16, 16), "the lanes came with different pointers");
  EXPECT_EQ(complaint<accumulator_at>(64, y.data(), 8, 20), "");
  EXPECT_HAS(complaint<accumulator_at>(64, y.data(), 4, 20), "wmma::store_matrix_sync at ");
  EXPECT_HAS(complaint<accumulator_at>(64, y.data(), 8, 18), "leading dimension 18 is not a multiple of 4");
}

}  // namespace
