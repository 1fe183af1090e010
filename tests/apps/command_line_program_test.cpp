// The program itself: exit codes, streams, a closed pipe, and the shells' and man's view of what it prints.
#include <gtest/gtest.h>
#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/apps/program.h"

namespace {

using namespace lathe;

using CommandLineProgram = ProgramTest;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST_F(CommandLineProgram, HelpAndVersionGoToStdout) {
  for (const char* words :
       {"--help", "train --help", "help evaluate", "data check -h", "data --help", "--version"}) {
    Result result = shell(std::string("\"$LATHE\" ") + words + " 2>/dev/null");
    EXPECT_EQ(result.code, 0) << words;
    EXPECT_TRUE(has(result.output, "lathe")) << words;
  }
}

TEST_F(CommandLineProgram, BadUsageIsOneLineOnStderrAndWritesNothing) {
  for (const char* words :
       {"", "trian", "compare", "train --lr abc", "train --lr 0,1", "train --lr=-0.1", "train --lr nan",
        "train --batch-size 5asdf", "train --epochs", "train --epohcs 3", "train --lr --epochs 3",
        "train --seed 1 --seed 2", "train --config missing.toml", "train --resume missing",
        "train --kernels conv2=library", "evaluate", "completion", "--lr 3"}) {
    Result result = shell(std::string("\"$LATHE\" ") + words +
                          " >out.txt; code=$?; [ ! -s out.txt ] && rm out.txt; exit $code");
    EXPECT_EQ(result.code, 2) << words << ": " << result.output;
    EXPECT_EQ(result.output.rfind("lathe: ", 0), 0U) << result.output;
    EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 1) << result.output;
    EXPECT_TRUE(fs::is_empty(folder_)) << words << " wrote a file";
  }
}

TEST_F(CommandLineProgram, ClosedPipeAndFullDisk) {
  EXPECT_EQ(shell("\"$LATHE\" man | head -1 >/dev/null; exit ${PIPESTATUS[0]}").code, 0);
  EXPECT_EQ(shell("\"$LATHE\" train --print-config >/dev/full").code, 1);
}

TEST_F(CommandLineProgram, PrintedConfigurationIsAConfiguration) {
  Result result = shell(
      "LATHE_SEED=3 \"$LATHE\" train --print-config --lr 1e-5 >a.toml && "
      "\"$LATHE\" train --config a.toml --print-config");
  EXPECT_EQ(result.code, 0);
  EXPECT_TRUE(has(result.output, "lr = 1e-05") && has(result.output, "seed = 3")) << result.output;
}

TEST_F(CommandLineProgram, DoctorReportsThisMachine) {
  Result result = shell("\"$LATHE\" doctor --json");
  auto report = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(report.is_object()) << result.output;
  EXPECT_EQ(result.code, report.at("ready") ? 0 : 4);
  for (const char* group : {"machine", "build", "libraries", "gpu"})
    EXPECT_FALSE(report.at(group).empty()) << group;
  EXPECT_EQ(shell("\"$LATHE\" doctor").code, result.code);
}

TEST_F(CommandLineProgram, BashCompletes) {
  Result result = shell(
      "set -eu; \"$LATHE\" completion bash >c.sh; set +u; . ./c.sh; "
      "try() { COMP_WORDS=(lathe \"$@\"); COMP_CWORD=$#; _lathe; echo \"${COMPREPLY[*]}\"; }; "
      "try tra; try train --epo; try train --optimizer ad; try data pre; try data check --strict; try train "
      "--memory ''");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "train\n--epochs\nadam adamw\npreview\n--strict-data\nnaive pool plan\n");
}

TEST_F(CommandLineProgram, OtherShellsAcceptTheirScripts) {
  for (const char* name : {"zsh", "fish"}) {
    std::string shell_name = name;
    if (shell("command -v " + shell_name).code != 0) continue;
    EXPECT_EQ(shell("\"$LATHE\" completion " + shell_name + " >c && " + shell_name + " -n c").code, 0)
        << name;
  }
}

TEST_F(CommandLineProgram, ManReadsTheManualPage) {
  if (shell("command -v groff").code != 0) GTEST_SKIP() << "no groff here";
  Result result = shell("\"$LATHE\" man | groff -man -Tutf8 -ww -z");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(result.output, "");
}

}  // namespace
