// Every rung of every ladder against its expected values, in a few shapes; `lathe kernels check` has them
// all.
#include <gtest/gtest.h>

#include "kernels/study/study.h"

namespace lathe::study {
namespace {

class Ladder : public ::testing::TestWithParam<const Rung*> {};

TEST_P(Ladder, IsRightInEveryElementType) {
  for (Element element : GetParam()->elements) {
    for (const Trial& trial : GetParam()->trials(Purpose::check_quick, element))
      EXPECT_EQ(run_trial(trial), "") << GetParam()->id() << ", " << name_of(element) << ", " << trial.shape;
  }
}

TEST_P(Ladder, OpensWithWhatItTeaches) {
  std::string_view text = opening_comment(*GetParam());
  for (const char* part : {"Idea.", "Bytes.", "Operations.", "Bound."})
    EXPECT_NE(text.find(part), std::string_view::npos) << GetParam()->source() << " lacks " << part;
}

std::vector<const Rung*> all_rungs() {
  std::vector<const Rung*> list;
  for (const Rung& rung : rungs()) list.push_back(&rung);
  return list;
}

std::string test_name(const ::testing::TestParamInfo<const Rung*>& info) {
  std::string name = info.param->id();
  std::replace_if(
      name.begin(), name.end(), [](char c) { return !std::isalnum(static_cast<unsigned char>(c)); }, '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Kernels, Ladder, ::testing::ValuesIn(all_rungs()), test_name);

// What lathe kernels time compares with must be the same problem. On a GPU only: the host build times none.
TEST(LadderLibraries, ComputeWhatTheRungsCompute) {
  int compared = 0;
  for (const Rung& rung : rungs()) {
    for (Element element : rung.elements) {
      for (Trial trial : rung.trials(Purpose::check_quick, element)) {
        if (!trial.library) continue;
        trial.launch = trial.library;
        EXPECT_EQ(run_trial(trial), "") << rung.id() << " " << name_of(element) << ", " << trial.shape;
        ++compared;
      }
    }
  }
  if (compared == 0) GTEST_SKIP() << "this build has no library to compare with";
}

}  // namespace
}  // namespace lathe::study
