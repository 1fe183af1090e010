// lathe kernels: names of rungs, exit codes, what is shown when a kernel or the tracing program fails.
#include <gtest/gtest.h>
#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>

#include "apps/kernels/measure.h"
#include "apps/kernels/predict.h"
#include "apps/kernels/select.h"
#include "engine/runtime/error.h"
#include "tests/apps/program.h"

namespace lathe {
namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class KernelsCommand : public ProgramTest {
 protected:
  Result kernels(const std::string& words) const { return shell("\"$LATHE\" kernels " + words); }

  // A copy of lathe with `script` as its lathe_traced, to be run as ./lathe.
  void fake_tracer(const std::string& script) const {
    shell("cp \"$LATHE\" lathe");
    std::ofstream(folder_ / "lathe_traced") << "#!/bin/sh\nexec 4>&1 >&3\n" << script;  // fd 4: its stdout
    fs::permissions(folder_ / "lathe_traced", fs::perms::owner_all);
  }
  bool can_trace() const { return shell("[ -x \"${LATHE}_traced\" ]").code == 0; }
};

// A trial of each job; `on_job` may do more before its end.
std::string tracer(const std::string& on_job, const std::string& version = "2") {
  return "touch started\nfor job; do\n"
         "echo '{\"v\":" +
         version +
         ",\"event\":\"begin\"}'\n"
         "echo '{\"v\":2,\"event\":\"trial\",\"shape\":\"M=8\",\"operations\":64,\"least_bytes\":32}'\n" +
         on_job +
         "\necho '{\"v\":2,\"event\":\"wrong\",\"message\":\"\"}'"
         "\necho '{\"v\":2,\"event\":\"end\"}'\ndone\n";
}

const char* const kFinding =
    R"(echo '{"v":2,"event":"kernel","trace":{"kernel":"k","grid":[1,1,1],"block":[32,1,1],)"
    R"("dynamic_shared_bytes":0,"static_shared_bytes":0,"launches":1,"blocks":1,"threads":32,"barriers":0,)"
    R"("warp_barriers":0,"idle_lanes":0,"unpaired":0,"figures":{"atomics":0,)"
    R"("global_load":{"requests":1,"lanes":32,"bytes":128,"moved":4,"ideal":4},)"
    R"("global_store":{"requests":0,"lanes":0,"bytes":0,"moved":0,"ideal":0},)"
    R"("shared_load":{"requests":1,"lanes":32,"bytes":128,"moved":32,"ideal":1},)"
    R"("shared_store":{"requests":0,"lanes":0,"bytes":0,"moved":0,"ideal":0}},"lines":[],)"
    R"("findings":[{"kind":"race","message":"two threads <b>","file":"k.cu","line":7,"block":[0,0,0],)"
    R"("thread":[3,0,0],"count":9}]}}')";

TEST(KernelNames, AllWaysOfNamingARungAreOne) {
  const auto one = select_rungs({"gemm/3"});
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0]->id(), "gemm/03_shared_tile");
  for (const char* word :
       {"gemm/03", "gemm/03_shared_tile", "gemm/shared_tile", "kernels/gemm/03_shared_tile.cu"})
    EXPECT_EQ(select_rungs({word}), one) << word;
  EXPECT_EQ(select_rungs({"gemm/3", "gemm/shared_tile"}), one);  // once
  EXPECT_EQ(select_rungs({}).size(), study::rungs().size());
  EXPECT_EQ(select_rungs({"gemm/"}), select_rungs({"gemm"}));
  EXPECT_EQ(select_rungs({"gemm/2", "gemm/1"}).front()->number, 1);  // the ladder's order
}

TEST(KernelNames, UnknownOnesGetASuggestion) {
  const std::pair<const char*, const char*> cases[] = {{"gem", "'gemm'"},
                                                       {"GEMM", "'gemm'"},
                                                       {"gemm/share_tile", "'gemm/shared_tile'"},
                                                       {"shared_tile", "/"},
                                                       {"gemm/99", "gemm has "},
                                                       {"", "lathe kernels list"},
                                                       {"../../etc/passwd", "lathe kernels list"}};
  for (auto [word, suggestion] : cases) {
    try {
      select_rungs({word});
      ADD_FAILURE() << word << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_TRUE(has(error.what(), suggestion)) << error.what();
    }
  }
}

TEST(KernelTimes, BoundIsTheSlowerOfArithmeticAndMemory) {
  const Gpu gpu{"test", 1e12, 8e12, 1e11};
  EXPECT_DOUBLE_EQ(bound_on(gpu, "fp32", 2e9, 1e8).seconds(), 2e-3);
  EXPECT_STREQ(bound_on(gpu, "fp32", 2e9, 1e8).by(), "arithmetic");
  EXPECT_DOUBLE_EQ(bound_on(gpu, "fp16", 2e9, 1e8).seconds(), 1e-3);
  EXPECT_STREQ(bound_on(gpu, "bf16", 2e9, 1e8).by(), "memory");
  EXPECT_EQ(format_seconds(999.7e-6), "1 ms");
}

TEST(KernelTimes, MeasuringRunsTheTrial) {  // here on hostcuda; the figures mean nothing
  const study::Rung& rung = study::rungs().front();
  study::Trial trial = rung.trials(study::Purpose::check_quick, rung.elements.front()).front();
  trial.library = {};
  const Measured alone = measure(trial, 3);
  ASSERT_EQ(alone.rung.size(), 3U);
  EXPECT_GT(median(alone.rung), 0);
  EXPECT_EQ(alone.library.size(), 0U);
  trial.library = trial.launch;
  EXPECT_EQ(measure(trial, 3).library.size(), 3U);
  trial.library = [](std::span<void* const>, cudaStream_t) { throw std::runtime_error("no algorithm"); };
  const Measured without = measure(trial, 3);
  EXPECT_EQ(without.rung.size(), 3U);  // a library that fails costs the rung nothing
  EXPECT_EQ(without.library_problem, "no algorithm");
  EXPECT_DOUBLE_EQ(median({4, 1, 2}), 2);
  EXPECT_DOUBLE_EQ(spread({1, 2, 3, 4}), (4.0 - 2.0) / 2.5);
}

TEST_F(KernelsCommand, ListHasEveryRung) {
  const auto list = nlohmann::json::parse(kernels("list --json").output, nullptr, false);
  ASSERT_TRUE(list.is_object());
  ASSERT_EQ(list.at("rungs").size(), study::rungs().size());
  const Result table = kernels("list");
  for (size_t i = 0; i < study::rungs().size(); ++i) {
    EXPECT_EQ(list.at("rungs").at(i).at("rung"), study::rungs()[i].id());
    EXPECT_TRUE(has(table.output, study::rungs()[i].id()));
  }
  EXPECT_FALSE(has(kernels("list gemm").output, "softmax"));
  EXPECT_EQ(shell("\"$LATHE\" kernels list | head -1 >/dev/null; exit ${PIPESTATUS[0]}").code, 0);
}

TEST_F(KernelsCommand, BadUsageIsOneLine) {
  for (const char* words :
       {"", "chek", "gemm/3", "check gem", "trace --json", "trace --json gemm/1", "explain",
        "trace --json - --html -", "trace --json a --html a", "trace --json a.tmp --html a",
        "trace --json - --html /dev/stdout", "list --quick", "time gemm/99", "check ''"}) {
    const Result result = kernels(words);
    EXPECT_EQ(result.code, 2) << words << ": " << result.output;
    EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << words << ": " << result.output;
    EXPECT_TRUE(fs::is_empty(folder_)) << words << " wrote a file";
  }
}

TEST_F(KernelsCommand, CheckIsALineARung) {
  Result result = kernels("check gemm/1 softmax/3 --quick");
  EXPECT_EQ(result.code, 0);
  EXPECT_EQ(std::ranges::count(result.output, '\n'), 3) << result.output;
  EXPECT_TRUE(has(result.output, "2 of 2 rungs ok")) << result.output;
  EXPECT_FALSE(has(result.output, "\r") || has(result.output, "\x1b"));
  result = kernels("check gemm/1 --quick --json -");
  EXPECT_EQ(nlohmann::json::parse(result.output, nullptr, false).at("ok"), true) << result.output;
}

TEST_F(KernelsCommand, CheckGoesOnAfterAFailure) {
  const Result result =
      shell("HOSTCUDA_FAIL_LAUNCH=2 \"$LATHE\" kernels check gemm/1 gemm/2 --quick 2>/dev/null");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "M=")) << "the shape: " << result.output;
  EXPECT_TRUE(has(result.output, "gemm/02_coalesced")) << result.output;
}

TEST_F(KernelsCommand, MemoryShortageIsOneLine) {
  for (const char* fault : {"HOSTCUDA_FAIL_ALLOC=2", "HOSTCUDA_MEMORY_LIMIT=1000"}) {
    const Result result = shell(std::string(fault) + " \"$LATHE\" kernels check gemm/1 --quick");
    EXPECT_EQ(result.code, 4) << result.output;
    EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << result.output;
    EXPECT_TRUE(has(result.output, "gemm/01_naive") && has(result.output, "memory")) << result.output;
  }
}

TEST_F(KernelsCommand, ACrashOfTheTracerIsNamedAndTheRestIsTraced) {
  fake_tracer(tracer("case $job in gemm/02*) kill -SEGV $$;; esac"));
  const Result result = shell("./lathe kernels trace gemm/1 gemm/2 gemm/3 --json f.json");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "gemm/02_coalesced, M=8: the process was killed by SIGSEGV"))
      << result.output;
  std::ifstream file(folder_ / "f.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  ASSERT_EQ(json.at("rungs").size(), 3U);
  EXPECT_EQ(json.at("rungs").at(0).at("ok"), true);
  EXPECT_EQ(json.at("rungs").at(1).at("ok"), false);
  EXPECT_EQ(json.at("rungs").at(2).at("shape"), "M=8");
}

TEST_F(KernelsCommand, WhatWasTracedBeforeMemoryGotShortIsShown) {
  fake_tracer(
      tracer("case $job in gemm/02*) echo '{\"v\":2,\"event\":\"out_of_memory\",\"what\":\"M=8\"}';; esac"));
  const Result result = shell("./lathe kernels trace gemm/1 gemm/2 gemm/3 --json f.json");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "gemm/01_naive") && has(result.output, "out of memory for M=8"))
      << result.output;
  std::ifstream file(folder_ / "f.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  EXPECT_EQ(json.at("ok"), false);
  ASSERT_EQ(json.at("rungs").size(), 2U);
  EXPECT_EQ(json.at("rungs").at(0).at("ok"), true);
}

// Whatever a kernel prints, and wherever its line breaks are.
TEST_F(KernelsCommand, PrintingHidesNoResult) {
  fake_tracer(
      tracer("printf 'half a line' >&4; echo '{\"v\":2,\"event\":\"wrong\",\"message\":\"C differs\"}'; "
             "printf ', its end\\n{\"v\":2,\"event\":\"end\"}\\n' >&4"));
  const Result result = shell("./lathe kernels trace gemm/1 2>&1");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "C differs")) << result.output;
  EXPECT_TRUE(has(result.output, "half a line, its end")) << result.output;
}

TEST_F(KernelsCommand, ATrialWithoutAResultIsWrong) {
  fake_tracer("for job; do echo '{\"v\":2,\"event\":\"begin\"}'; echo '{\"v\":2,\"event\":\"end\"}'; done");
  const Result result = shell("./lathe kernels trace gemm/1");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "without a word")) << result.output;
}

TEST_F(KernelsCommand, WhatCannotBeginLosesNothing) {
  fake_tracer("[ $# = 2 ] || exit 7\n" + tracer("exit 0"));
  const Result result = shell("./lathe kernels trace gemm/1 gemm/2");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(has(result.output, "gemm/01_naive") && has(result.output, "could not begin")) << result.output;
}

TEST_F(KernelsCommand, PredictionsSayWhatFailed) {
  fake_tracer(tracer("case $job in gemm/02*) kill -SEGV $$;; esac"));
  const Result result = shell("./lathe kernels time gemm/1 gemm/2 --json f.json");
  EXPECT_EQ(result.code, 1);
  std::ifstream file(folder_ / "f.json");
  const auto json = nlohmann::json::parse(file, nullptr, false);
  EXPECT_EQ(json.at("ok"), false);
  EXPECT_NE(json.at("rungs").at(1).at("wrong"), "");
  fake_tracer(tracer(kFinding));
  EXPECT_EQ(shell("./lathe kernels time gemm/1").code, 1);
}

TEST_F(KernelsCommand, BadSwitchesInTheEnvironmentAreOneLine) {
  for (const char* setting :
       {"HOSTCUDA_THREADS=4294967297", "HOSTCUDA_THREADS=-1", "HOSTCUDA_THREAD_ORDER=zzz",
        "HOSTCUDA_THREAD_ORDER=random:-1", "HOSTCUDA_MEMORY_LIMIT=99999999999999999999"}) {
    const Result result = shell(std::string(setting) + " \"$LATHE\" kernels check gemm --quick");
    EXPECT_EQ(result.code, 2) << setting << ": " << result.output;
    EXPECT_EQ(std::ranges::count(result.output, '\n'), 1) << setting << ": " << result.output;
  }
}

TEST_F(KernelsCommand, FindingsAreLinesAndExitWithOne) {
  fake_tracer(tracer(kFinding));
  const Result result = shell("./lathe kernels trace gemm/1 --html page.html");
  EXPECT_EQ(result.code, 1);
  EXPECT_TRUE(
      has(result.output,
          "gemm/01_naive: race in k, block (0,0,0), thread (3,0,0), k.cu:7: two threads <b> (9 times)"))
      << result.output;
  const std::string page = shell("cat page.html").output;
  EXPECT_TRUE(has(page, "two threads &lt;b&gt;") && has(page, "<svg")) << page.substr(0, 200);
  for (const char* outside : {"src=", "href=\"http", "url(", "@import", "<script", "<link"})
    EXPECT_FALSE(has(page, outside)) << outside;
}

TEST_F(KernelsCommand, ATracerThatCannotBeUsedIsOneLine) {
  fake_tracer("");
  const std::pair<std::string, const char*> cases[] = {{"exit 3", "exit code 3"},
                                                       {tracer("", "9"), "another version"},
                                                       {"echo '{\"v\":2}'", "cannot be read"}};
  for (const auto& [script, part] : cases) {
    fake_tracer(script);
    const Result result = shell("./lathe kernels trace gemm/1");
    EXPECT_EQ(result.code, 1);
    EXPECT_TRUE(has(result.output, part) && std::ranges::count(result.output, '\n') == 1) << result.output;
  }
  fs::remove(folder_ / "lathe_traced");
  EXPECT_TRUE(has(shell("./lathe kernels trace gemm/1").output, "make build"));
  const Result explained = shell("./lathe kernels explain gemm/1");
  EXPECT_EQ(explained.code, 0);
  EXPECT_TRUE(has(explained.output, "Idea.") && has(explained.output, "kernels/gemm/01_naive.cu"))
      << explained.output;
}

TEST_F(KernelsCommand, APlaceThatCannotBeWrittenToIsToldBeforeTheWork) {
  fake_tracer(tracer(""));
  for (const char* words : {"--json missing/f.json", "--html missing/page.html", "--html /dev/full"}) {
    EXPECT_EQ(shell(std::string("./lathe kernels trace gemm/1 ") + words).code, 1) << words;
    EXPECT_FALSE(fs::exists(folder_ / "started")) << words;
  }
  EXPECT_EQ(shell("./lathe kernels trace gemm/1 >/dev/full").code, 1);
}

TEST_F(KernelsCommand, NoTracerOutlivesTheCommand) {
  fake_tracer("echo $$ >pid; exec sleep 100");
  const Result result = shell(
      "{ ./lathe kernels trace gemm/1 --json f.json & for i in $(seq 100); do [ -s pid ] && break; sleep "
      "0.05; done; "
      "kill -TERM $!; wait $!; code=$?; for i in $(seq 100); do kill -0 $(cat pid) || break; sleep 0.05; "
      "done; "
      "[ $i = 100 ] && echo alive; exit $code; }");
  EXPECT_EQ(result.code, 143);
  EXPECT_FALSE(has(result.output, "alive")) << result.output;
  EXPECT_FALSE(fs::exists(folder_ / "f.json.tmp"));
}

TEST_F(KernelsCommand, TimeWithoutAGpuIsNamedAPrediction) {
  fake_tracer(tracer(""));
  const Result result = shell("./lathe kernels time gemm/1 --html page.html");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_TRUE(has(result.output, "Predicted, not measured") && has(result.output, "H200")) << result.output;
  EXPECT_TRUE(has(shell("cat page.html").output, "Predicted, not measured"));
}

TEST_F(KernelsCommand, TracedFiguresOfARealRung) {
  if (!can_trace()) GTEST_SKIP() << "this build has no lathe_traced";
  const Result result = kernels("trace gemm/2 --json - --lines");
  EXPECT_EQ(result.code, 0) << result.output;
  const auto json = nlohmann::json::parse(result.output, nullptr, false);
  ASSERT_TRUE(json.is_object()) << result.output;
  const auto& rung = json.at("rungs").at(0);
  EXPECT_EQ(rung.at("rung"), "gemm/02_coalesced");
  EXPECT_GT(rung.at("bytes_moved"), rung.at("least_bytes"));
  EXPECT_FALSE(rung.at("kernels").at(0).at("lines").empty());
  const Result lines = kernels("trace gemm/2 --lines");
  EXPECT_TRUE(has(lines.output, "kernels/gemm/02_coalesced.cu:") && has(lines.output, "A[m * lda + k]"))
      << "the source text, from another folder: " << lines.output;
}

TEST_F(KernelsCommand, BashCompletesRungs) {
  const Result result = shell(
      "\"$LATHE\" completion bash >c.sh; . ./c.sh; "
      "try() { COMP_WORDS=(lathe \"$@\"); COMP_CWORD=$#; _lathe; echo \"${COMPREPLY[*]}\"; }; "
      "try ker; try kernels ''; try kernels explain gemm/02; try kernels trace --li; try kernels trace "
      "--json ge");
  EXPECT_EQ(result.output, "kernels\nlist check trace time explain\ngemm/02_coalesced\n--lines\n\n");
}

}  // namespace
}  // namespace lathe
