// The list of rungs, and what is known of each element type.
#include "kernels/study/study.h"

#include <iterator>
#include <map>
#include <random>

#include "kernels/study/ladders.h"

namespace lathe::study {

// From the generated file: source path → opening comment.
const std::map<std::string_view, std::string_view>& opening_comments();

int64_t bytes_of(Element element) {
  constexpr int64_t kBytes[] = {4, 2, 2, 8, 4, 8, 1};
  return kBytes[static_cast<int>(element)];
}

std::string_view name_of(Element element) {
  constexpr std::string_view kNames[] = {"fp32", "fp16", "bf16", "fp64", "int32", "int64", "uint8"};
  return kNames[static_cast<int>(element)];
}

std::string Rung::id() const {
  return ladder + (number < 10 ? "/0" : "/") + std::to_string(number) + "_" + name;
}
std::string Rung::source() const { return "kernels/" + id() + ".cu"; }

const std::vector<Rung>& rungs() {
  static const std::vector<Rung> all = [] {
    std::vector<Rung> list;
    for (auto ladder : {gemm_rungs, softmax_rungs, elementwise_rungs, optimizer_rungs, reduce_rungs,
                        transpose_rungs, batchnorm_rungs, pool_rungs, augment_rungs, conv2d_rungs}) {
      std::vector<Rung> more = ladder();
      list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
    }
    return list;
  }();
  return all;
}

std::string_view opening_comment(const Rung& rung) {
  auto found = opening_comments().find(rung.source());
  return found != opening_comments().end() ? found->second : std::string_view();
}

std::vector<double> random_values(int64_t n, uint64_t seed) {
  std::mt19937_64 generator(seed);
  std::vector<double> values(static_cast<size_t>(n));
  for (double& value : values)
    value = static_cast<double>(static_cast<int64_t>(generator() % 2048) - 1024) / 1024;
  return values;
}

}  // namespace lathe::study
