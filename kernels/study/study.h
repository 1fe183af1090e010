// How the ladders are studied. A ladder is one computation written several times, each rung a file whose idea
// builds on the rung before. A trial is one problem for a rung: what its arrays hold before, what they must
// hold after, and what the work is worth. `lathe kernels` and the tests run the same trials: they check them
// against their expected values, trace them, or time them.
#pragma once

#include <cuda_runtime.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace lathe::study {

enum class Element { fp32, fp16, bf16, fp64, int32, int64, uint8 };
int64_t bytes_of(Element element);
std::string_view name_of(Element element);  // "fp32"

// One array in device memory.
struct Array {
  std::string name;  // as in the kernel: "A"
  Element element = Element::fp32;
  std::vector<double> before;    // what it holds before the launch; numbers are rounded to `element`
  std::vector<double> expected;  // what it must hold after; empty: unchanged, which is checked too
  double tolerance = 0;          // largest |got − expected| / max(1, |expected|); NaN expects NaN
  int shift = 0;                 // begins this many elements after a 256-byte boundary
  bool scratch = false;          // workspace: whatever it holds after is right
};

struct Trial {
  std::string shape;                // "M=17 N=129 K=3, A one element off alignment"
  Element element = Element::fp32;  // of the data
  std::vector<Array> arrays;
  // Enqueues the rung. pointers[i] is arrays[i] in device memory. Throws Unsupported before launching
  // anything.
  std::function<void(std::span<void* const> pointers, cudaStream_t stream)> launch;
  // The same by a vendor's library at the same compute type; empty where there is none.
  std::function<void(std::span<void* const> pointers, cudaStream_t stream)> library = {};
  double operations = 0;   // useful arithmetic operations; a multiply-add is two
  double least_bytes = 0;  // every input read once and every output written once
};

enum class Purpose {
  check,        // odd shapes, unaligned pointers, every element type: all of it in under 3 minutes together
  check_quick,  // a few of these, for make test
  trace,        // one trial, small enough to trace in about a second, large enough to show the idea
  time,         // one trial that fills a GPU; `expected` may be empty
};

struct Rung {
  std::string ladder;  // "gemm"
  int number = 0;      // 3
  std::string name;    // "shared_tile"
  std::vector<Element> elements;
  std::function<std::vector<Trial>(Purpose, Element)> trials;
  bool in_engine = false;  // what the engine's handwritten implementation launches

  std::string id() const;      // "gemm/03_shared_tile"
  std::string source() const;  // "kernels/gemm/03_shared_tile.cu"
};

// Every rung, ladder by ladder, in order.
const std::vector<Rung>& rungs();

// The comment that opens a rung's source, embedded by the build; lines without their "// ".
std::string_view opening_comment(const Rung& rung);

// Runs a trial once on the device. Returns an empty string, or in one line what was wrong: an error of a
// launch, a value that differs and where, or a cell written outside of the arrays.
std::string run_trial(const Trial& trial);

// A trial's arrays in device memory, with guard cells before and after each. Throws std::bad_alloc.
class Arrays {
 public:
  explicit Arrays(const Trial& trial);
  ~Arrays();
  Arrays(const Arrays&) = delete;
  Arrays& operator=(const Arrays&) = delete;
  std::span<void* const> pointers() const { return pointers_; }
  std::string check() const;  // as run_trial, after the work is done

 private:
  const Trial& trial_;
  std::vector<void*> memory_, pointers_;
};

// Values that every trial can use: uniform in [-1, 1), multiples of 2^-10, so that they lose little in 16
// bit; a seed always gives the same.
std::vector<double> random_values(int64_t n, uint64_t seed);

}  // namespace lathe::study
