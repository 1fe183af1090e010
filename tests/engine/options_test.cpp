// Switches: text forms, what is refused, requested against effective, and the hash that caches depend on.
#include "engine/runtime/options.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "engine/runtime/error.h"
#include "engine/runtime/suggest.h"

namespace lathe {
namespace {

std::string refusal(const std::string& name, const std::string& value) {
  Options options;
  try {
    set_switch(options, name, value);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    EXPECT_EQ(options, Options()) << "a refused value must change nothing";
    return error.what();
  }
  return "";
}

TEST(Options, EverySwitchGoesThroughText) {
  const std::vector<std::pair<std::string, std::string>> values = {
      {"kernels", "handwritten,conv2d=library,relu=reference"},
      {"precision", "bf16"},
      {"layout", "nhwc"},
      {"fusion", "conv2d+relu,linear+relu"},
      {"memory", "pool"},
      {"recompute", "512"},
      {"capture", "on"},
      {"overlap", "off"},
      {"workers", "7"},
      {"augment-on", "host"},
      {"winograd", "on"},
      {"autotune", "on"},
      {"deterministic", "off"}};
  ASSERT_EQ(values.size(), switch_names().size());
  Options options;
  for (const auto& [name, value] : values) {
    EXPECT_NE(switch_value(options, name), value) << "the test must change " << name;
    set_switch(options, name, value);
    EXPECT_EQ(switch_value(options, name), value);
  }
  EXPECT_EQ(options.implementation_for("conv2d"), "library");
  EXPECT_EQ(options.implementation_for("max_pool"), "handwritten");
}

TEST(Options, RefusesWithSuggestion) {
  EXPECT_NE(refusal("kernels", "conv2d=handwriten").find("did you mean 'handwritten'"), std::string::npos);
  EXPECT_NE(refusal("precision", "fp61").find("did you mean 'fp16'"), std::string::npos);
  for (auto [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"kernels", ""},
                                                        {"kernels", "conv2d="},
                                                        {"kernels", "=library"},
                                                        {"kernels", "library,library"},
                                                        {"kernels", "relu=library,relu=library"},
                                                        {"kernels", "library,"},
                                                        {"recompute", "0"},
                                                        {"recompute", "-1"},
                                                        {"recompute", "5x"},
                                                        {"recompute", "99999999999"},
                                                        {"workers", "-1"},
                                                        {"workers", "257"},
                                                        {"workers", "1.5"},
                                                        {"capture", "maybe"},
                                                        {"fusion", "on,conv2d+relu"},
                                                        {"fusion", "a,,b"},
                                                        {"layout", "NCHW"},
                                                        {"memory", ""}})
    EXPECT_FALSE(refusal(name, value).empty()) << name << "=" << value;
}

TEST(Options, UnknownOperationIsNamed) {
  Options options;
  set_switch(options, "kernels", "conv2=handwritten");
  try {
    check_operations(options, {"conv2d", "linear"});
    FAIL();
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("did you mean 'conv2d'"), std::string::npos) << error.what();
  }
  EXPECT_NO_THROW(check_operations(options, {"conv2", "linear"}));
}

// Whatever the build can do now: a difference has a reason, effective values are stable, --strict refuses.
TEST(Options, RequestedAgainstEffective) {
  for (const Limit& limit : build_limits()) {
    EXPECT_NE(std::find(limit.works.begin(), limit.works.end(), limit.fallback), limit.works.end())
        << limit.name;
    const std::set<std::string> works(limit.works.begin(), limit.works.end());
    for (const char* value :
         {"on", "off", "auto", "fp32", "tf32", "bf16", "fp16", "nchw", "nhwc", "native", "naive", "pool",
          "plan", "device", "host", "library", "handwritten", "reference"}) {
      Options options;
      try {
        set_switch(options, limit.name, value);
      } catch (const Error&) {
        continue;  // another switch's value
      }
      auto rows = effective_switches(options);
      auto row =
          std::find_if(rows.begin(), rows.end(), [&](const Switch& s) { return s.name == limit.name; });
      ASSERT_NE(row, rows.end()) << limit.name;
      EXPECT_EQ(row->requested, value);
      EXPECT_EQ(row->effective, works.count(value) ? std::string(value) : limit.fallback);
      EXPECT_EQ(row->reason.empty(), row->requested == row->effective) << limit.name << "=" << value;
      Options effective = effective_options(options);
      EXPECT_EQ(effective_options(effective), effective);
      options.strict = true;
      if (works.count(value)) continue;
      try {
        effective_options(options);
        ADD_FAILURE() << "--strict accepted " << limit.name << "=" << value;
      } catch (const Error& error) {
        EXPECT_EQ(error.code(), ExitCode::usage);
        EXPECT_NE(std::string(error.what()).find(limit.name + "=" + value), std::string::npos)
            << error.what();
      }
    }
  }
}

TEST(Options, DefaultsTakeEffect) {
  Options options;
  options.strict = true;
  for (const Switch& row : effective_switches(options)) {
    if (row.name == "kernels") continue;  // no library in the cuda build yet
    EXPECT_EQ(row.requested, row.effective) << row.name << ": " << row.reason;
  }
}

TEST(Options, HashKnowsEverySwitch) {
  std::set<uint64_t> hashes = {hash(Options())};
  for (auto [name, value] :
       std::vector<std::pair<std::string, std::string>>{{"kernels", "reference"},
                                                        {"kernels", "library,relu=reference"},
                                                        {"precision", "fp16"},
                                                        {"layout", "nhwc"},
                                                        {"fusion", "on"},
                                                        {"memory", "naive"},
                                                        {"recompute", "auto"},
                                                        {"capture", "on"},
                                                        {"overlap", "off"},
                                                        {"workers", "2"},
                                                        {"augment-on", "host"},
                                                        {"winograd", "on"},
                                                        {"autotune", "on"},
                                                        {"deterministic", "off"}}) {
    Options options;
    set_switch(options, name, value);
    EXPECT_TRUE(hashes.insert(hash(options)).second) << name;
  }
  EXPECT_EQ(hash(Options()), hash(Options()));
}

TEST(Suggest, FindsTheNearWordOnly) {
  const std::vector<std::string> words = {"epochs", "batch-size", "momentum", "lr"};
  EXPECT_EQ(nearest("epohcs", words), "epochs");
  EXPECT_EQ(nearest("batch", words), "batch-size");
  EXPECT_EQ(nearest("mometum", words), "momentum");
  EXPECT_EQ(nearest("zzzzzz", words), "");
  EXPECT_EQ(nearest("", words), "");
  EXPECT_EQ(edit_distance("", "abc"), 3);
}

}  // namespace
}  // namespace lathe
