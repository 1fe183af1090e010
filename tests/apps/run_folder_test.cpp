// A run's folder and the files in it: never overwritten, readable after a crash, right in every locale.
#include "apps/run/run_folder.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <clocale>
#include <cmath>
#include <fstream>
#include <limits>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <thread>

#include "apps/run/arguments.h"
#include "apps/run/event_log.h"
#include "apps/run/line_file.h"
#include "apps/run/results_csv.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {
namespace fs = std::filesystem;
using nlohmann::json;

class RunFiles : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe_run_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    root_ = pattern;
  }
  void TearDown() override { fs::remove_all(root_); }

  static std::string text(const fs::path& path) {
    std::ostringstream out;
    out << std::ifstream(path, std::ios::binary).rdbuf();
    return out.str();
  }
  static std::vector<json> events(const fs::path& path) {
    std::vector<json> all;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) all.push_back(json::parse(line));
    return all;
  }
  fs::path root_;
};

ExitCode code_of(const std::function<void()>& action, std::string* message = nullptr) {
  try {
    action();
  } catch (const Error& error) {
    if (message != nullptr) *message = error.what();
    return error.code();
  }
  return ExitCode::done;
}

TEST_F(RunFiles, FiftyParallelStartsGiveFiftyFolders) {
  std::vector<std::string> made(50);
  std::vector<std::thread> threads;
  for (std::string& path : made) {
    threads.emplace_back([&path, this] { path = RunFolder::create("train", "", root_).path.string(); });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(std::set<std::string>(made.begin(), made.end()).size(), 50U);
  for (int i = 1; i <= 50; ++i)
    EXPECT_TRUE(fs::is_directory(root_ / "train" / std::to_string(i) / "weights")) << i;
}

TEST_F(RunFiles, NumbersGoOnAfterTheHighestAndNamesAreKept) {
  fs::create_directories(root_ / "train" / "7");
  fs::create_directories(root_ / "train" / "99x");
  EXPECT_EQ(RunFolder::create("train", "", root_).path, root_ / "train" / "8");
  EXPECT_EQ(RunFolder::create("train", "exp", root_).path, root_ / "train" / "exp");
  EXPECT_EQ(RunFolder::create("train", "exp", root_).path, root_ / "train" / "exp-2");
  for (const char* bad : {"..", ".", "a/b", "/etc"}) {
    EXPECT_EQ(code_of([&] { RunFolder::create("train", bad, root_); }), ExitCode::usage) << bad;
  }
}

TEST_F(RunFiles, OutMustBeNewOrEmpty) {
  EXPECT_TRUE(fs::is_directory(RunFolder::create_at(root_ / "a" / "b").path / "state"));
  fs::create_directory(root_ / "empty");
  EXPECT_EQ(RunFolder::create_at((root_ / "empty").string() + "/").path, root_ / "empty");
  std::string message;
  EXPECT_EQ(code_of([&] { RunFolder::create_at(root_ / "empty"); }, &message), ExitCode::usage);
  EXPECT_NE(message.find("empty"), std::string::npos);
  std::ofstream(root_ / "file") << "x";
  EXPECT_EQ(code_of([&] { RunFolder::create_at(root_ / "file"); }), ExitCode::usage);
  EXPECT_EQ(text(root_ / "file"), "x");
  EXPECT_EQ(code_of([&] { RunFolder::create_at(root_ / "file" / "below"); }), ExitCode::failure);
  EXPECT_EQ(code_of([&] { RunFolder::create_at("/proc/lathe/x"); }), ExitCode::failure);
}

TEST_F(RunFiles, ResumeWantsAState) {
  EXPECT_EQ(code_of([&] { RunFolder::open(root_ / "none"); }), ExitCode::usage);
  const RunFolder made = RunFolder::create("train", "", root_);
  EXPECT_EQ(code_of([&] { RunFolder::open(made.path); }), ExitCode::usage);
  std::ofstream(made.state()) << "x";
  EXPECT_EQ(RunFolder::open(made.path.string() + "/").path, made.path);
}

TEST_F(RunFiles, EventsAreOneObjectALineInFullPrecision) {
  const fs::path path = root_ / "events.jsonl";
  {
    EventLog log(path);
    log.write(RunStartEvent{{"lathe", "train", "--data", "a b"}, "runs/train/1", 7, 0});
    log.write(SwitchEvent{"capture", "on", "off", "batch size varies\n\x1b"});
    log.write(StepEvent{.step = 1,
                        .epoch = 1,
                        .loss = 0.1 + 0.2,
                        .lr = 1e-5,
                        .loss_scale = 65536,
                        .step_ms = 12.5,
                        .data_wait_ms = 0.25,
                        .img_s = 4810});
    log.write(StepEvent{
        .step = 2, .epoch = 1, .loss = std::nan(""), .lr = std::numeric_limits<double>::infinity()});
    log.write(EpochEvent{.epoch = 1, .step = 2, .samples = 64, .loss = 1.5, .top1 = 0.5});
    log.write(EvalEvent{.epoch = 1, .loss = 0.731, .top1 = 0.733, .correct = 241, .samples = 329});
    log.write(CheckpointEvent{1, 2, "best", "weights/best.safetensors"});
    log.warning("folder \xff skipped");
    log.write(RunEndEvent{"done", 0, 1, 3.5});
    EXPECT_EQ(code_of([&] { EventLog second(path); }), ExitCode::failure);  // another run writes here
  }
  const std::vector<json> all = events(path);
  std::vector<std::string> names;
  for (const json& event : all) names.push_back(event.at("event"));
  EXPECT_EQ(names, (std::vector<std::string>{"run_start", "switch", "step", "step", "epoch", "eval",
                                             "checkpoint", "warning", "run_end"}));
  EXPECT_EQ(all[0].at("version"), 1);
  EXPECT_EQ(all[0].at("command"), "lathe train --data 'a b'");
  EXPECT_EQ(all[1].at("reason"), "batch size varies\n\x1b");
  EXPECT_EQ(all[2].at("loss").get<double>(), 0.1 + 0.2);
  EXPECT_EQ(all[2].at("lr").get<double>(), 1e-5);
  EXPECT_EQ(all[2].size(), 9U);
  for (const char* key : {"step", "epoch", "loss", "lr", "loss_scale", "step_ms", "data_wait_ms", "img_s"}) {
    EXPECT_TRUE(all[2].at(key).is_number()) << key;
  }
  EXPECT_TRUE(all[3].at("loss").is_null());
  EXPECT_TRUE(all[3].at("lr").is_null());
  EXPECT_EQ(all[5].at("split"), "val");
  EXPECT_TRUE(text(path).starts_with("{\"event\":\"run_start\",\"version\":1,"));
}

TEST_F(RunFiles, AResumedLogAppendsAfterTheLastWholeLine) {
  const fs::path path = root_ / "events.jsonl";
  EventLog(path).write(StepEvent{.step = 1});
  std::ofstream(path, std::ios::app) << R"({"event":"step","st)";  // the crash
  EventLog(path).write(StepEvent{.step = 2});
  const std::vector<json> all = events(path);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[1].at("step"), 2);
}

TEST_F(RunFiles, WriteErrorsAreReported) {
  std::string message;
  EXPECT_EQ(code_of([] { EventLog("/dev/full").warning("x"); }, &message), ExitCode::failure);
  EXPECT_EQ(message, "/dev/full: cannot write: No space left on device");
  EXPECT_EQ(code_of([&] { EventLog log(root_ / "none" / "events.jsonl"); }, &message), ExitCode::failure);
  EXPECT_NE(message.find("none/events.jsonl"), std::string::npos);
}

TEST_F(RunFiles, AFullDiskLeavesWholeLines) {
  const fs::path path = root_ / "events.jsonl";
  const pid_t child = fork();
  if (child == 0) {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{1000, 1000};
    setrlimit(RLIMIT_FSIZE, &limit);
    EventLog log(path);
    const ExitCode code = code_of([&] {
      for (int i = 0; i < 100; ++i) log.write(StepEvent{.step = i});
    });
    _exit(static_cast<int>(code));
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(WEXITSTATUS(status), static_cast<int>(ExitCode::failure));
  EXPECT_GT(events(path).size(), 3U);  // every line parses
  EXPECT_EQ(text(path).back(), '\n');
}

TEST_F(RunFiles, ResultsKeepTheirHeaderOnceAndDropRepeatedEpochs) {
  const fs::path path = root_ / "results.csv";
  {
    ResultsCsv csv(path);
    for (int64_t epoch = 1; epoch <= 3; ++epoch) {
      csv.write({.epoch = epoch, .time_s = 1.5, .train_loss = 0.1, .val_loss = std::nan(""), .lr = 1e-5});
    }
  }
  std::ofstream(path, std::ios::app) << "4,0.5";
  {
    ResultsCsv csv(path, 3);  // the state was saved after epoch 2
    csv.write({.epoch = 3, .train_loss = 9});
  }
  EXPECT_EQ(text(path),
            "epoch,time_s,train/loss,train/top1,val/loss,val/top1,lr,perf/img_s,perf/data_wait_ms\n"
            "1,1.5,0.1,0,nan,0,1e-05,0,0\n"
            "2,1.5,0.1,0,nan,0,1e-05,0,0\n"
            "3,0,9,0,0,0,0,0,0\n");
  std::ofstream(path) << "other,columns\n";
  EXPECT_EQ(code_of([&] { ResultsCsv csv(path); }), ExitCode::failure);
  std::ofstream(path) << "epoch,ti";
  EXPECT_EQ(code_of([&] { ResultsCsv csv(path); }), ExitCode::done);
}

TEST_F(RunFiles, NumbersDoNotDependOnTheLocale) {
  const char* german = std::setlocale(LC_ALL, "de_DE.UTF-8");
  if (german == nullptr) german = std::setlocale(LC_ALL, "de_DE.utf8");
  ResultsCsv(root_ / "results.csv").write({.epoch = 1, .train_loss = 1234567.5});
  EventLog(root_ / "events.jsonl").write(StepEvent{.loss = 0.5});
  std::setlocale(LC_ALL, "C");
  EXPECT_NE(text(root_ / "results.csv").find("1,0,1234567.5,"), std::string::npos);
  EXPECT_NE(text(root_ / "events.jsonl").find("\"loss\":0.5"), std::string::npos);
}

TEST_F(RunFiles, ArgsSayWhereEachOptionCameFrom) {
  RunArguments arguments{{"lathe", "train", "--note", "it's \xff"},
                         {{"lr", "0.1", "flag"}, {"epochs", "10", "preset"}},
                         machine_facts(),
                         build_facts()};
  write_args_json(root_ / "args.json", arguments);
  const json all = json::parse(text(root_ / "args.json"));
  EXPECT_EQ(all.at("options").at("lr").at("origin"), "flag");
  EXPECT_EQ(all.at("options").at("epochs").at("value"), "10");
  EXPECT_EQ(all.at("version"), 1);
  EXPECT_FALSE(all.at("machine").at("processor").get<std::string>().empty());
  EXPECT_TRUE(all.at("versions").contains("compiler"));
}

TEST(ShellCommand, AShellReadsItBack) {
  EXPECT_EQ(shell_command({"lathe", "--data", "a b", "it's", "", "$(rm)", "x=1"}),
            "lathe --data 'a b' 'it'\\''s' '' '$(rm)' x=1");
}

}  // namespace
}  // namespace lathe
