// Where values come from: flag, environment, configuration file, preset, default, and a resumed run.
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "apps/command_line/config.h"
#include "apps/command_line/help.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

class CommandLineOrigins : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("lathe_origins_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string write(const std::string& name, const std::string& text) {
    fs::path path = folder_ / name;
    fs::create_directories(path.parent_path());
    std::ofstream(path, std::ios::binary) << text;
    return path.string();
  }

  static CommandLine parse(Words words, const Environment& environment = {}) {
    words.insert(words.begin(), "train");
    return parse_command_line(words, environment);
  }

  static std::string refusal(const Words& words, const Environment& environment = {}) {
    try {
      parse(words, environment);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ExitCode::usage);
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return error.what();
    }
    return "";
  }

  fs::path folder_;
};

TEST_F(CommandLineOrigins, StrongerOriginWins) {
  std::string config = write("exp.toml", "lr = 0.02\nmomentum = 0.5\nepochs = 4\nwidth = 1\n");
  Words words = {"--config", config, "--preset", "quick", "--lr", "0.04"};
  auto line = parse(words, {{"LATHE_LR", "0.03"}, {"LATHE_MOMENTUM", "0.6"}, {"LATHE_SEED", ""}});
  const Settings& s = line.settings;
  auto expect = [&](const char* name, const char* value, Origin origin) {
    EXPECT_EQ(s.text(name), value) << name;
    EXPECT_EQ(s.at(name).origin, origin) << name;
  };
  expect("lr", "0.04", Origin::flag);
  expect("momentum", "0.6", Origin::environment);
  expect("epochs", "4", Origin::config);
  expect("width", "1", Origin::config);
  expect("batch-size", "64", Origin::preset);
  expect("seed", "1", Origin::fallback);  // an empty variable is not set
}

TEST_F(CommandLineOrigins, StrongerLengthReplacesWeaker) {
  std::string config = write("exp.toml", "epochs = 4\n");
  TrainConfig by_flag = train_config(parse({"--config", config, "--steps", "9"}));
  EXPECT_EQ(by_flag.steps, 9);
  EXPECT_FALSE(by_flag.epochs);
  TrainConfig by_config = train_config(parse({"--config", config}, {}));
  EXPECT_EQ(by_config.epochs, 4);
  EXPECT_TRUE(
      has(refusal({"--config", write("two.toml", "epochs = 4\nsteps = 4\n")}), "--epochs and --steps"));
}

TEST_F(CommandLineOrigins, JsonAndTomlSayTheSame) {
  std::string toml =
      write("a.toml",
            "data = \"folder:photos\"\nlr = 1e-5\nbatch_size = 32\ncapture = true\n"
            "augment = [\"flip=0.5\", \"crop=4\"]\n[train]\nlr = 2e-5\n[data_check]\nseed = 9\n");
  std::string json =
      write("a.json", R"({"data": "folder:photos", "lr": 1e-5, "batch-size": 32, "capture": "on",
                                        "augment": {"flip": 0.5, "crop": 4}, "train": {"lr": 2e-5}, "steps": null})");
  for (const std::string& path : {toml, json}) {
    TrainConfig config = train_config(parse({"--config", path}));
    EXPECT_EQ(config.data.spec, "folder:photos");
    EXPECT_EQ(config.optimizer.lr, 0.00002);
    EXPECT_EQ(config.batch_size, 32);
    EXPECT_TRUE(config.switches.capture);
    EXPECT_EQ(config.data.augment == "flip=0.5,crop=4" || config.data.augment == "crop=4,flip=0.5", true);
    EXPECT_EQ(config.run.seed, 1U);
  }
}

TEST_F(CommandLineOrigins, EveryOptionFitsAConfigurationFile) {
  for (const OptionSpec* option : options_of(Command::train)) {
    std::string value(option->fallback.empty() ? option->example.substr(option->example.find(' ') + 1)
                                               : option->fallback);
    if (option->flag_only || option->name == "resume") continue;
    if (option->name == "preset") value = "quick";
    std::string path = write("one.json", nlohmann::json{{option->name, value}}.dump());
    EXPECT_EQ(read_config(path, Command::train).at(std::string(option->name)),
              checked_value(*option, value, "here"));
  }
}

TEST_F(CommandLineOrigins, BadConfigurationFilesAreRefused) {
  auto refused = [&](const std::string& text) { return refusal({"--config", write("bad", text)}); };
  EXPECT_TRUE(has(refused("epohcs = 3"), "did you mean 'epochs'?"));
  EXPECT_TRUE(has(refused("lr = \"fast\""), "lr: 'fast'"));
  EXPECT_TRUE(has(refused("lr = nan"), "lr: 'nan'"));
  EXPECT_TRUE(has(refused("batch-size = 12.5"), "batch-size: '12.5'"));
  EXPECT_TRUE(has(refused("lr = 1\nlr = 2"), "line"));
  EXPECT_TRUE(has(refused("{\"lr\": 1, \"lr\": 2}"), "twice"));
  EXPECT_TRUE(has(refused("batch-size = 1\nbatch_size = 2"), "twice"));
  EXPECT_TRUE(has(refused("help = true"), "only a flag"));
  EXPECT_TRUE(has(refused("lr = 2001-01-01"), "lr"));
  for (const char* text :
       {"{", "{\"lr\": }", "= 3", "[[[", "lr 3", "\xff\xfe", "lr = \"\\u0000\"", "{\"lr\": \"\\ud800\"}"})
    EXPECT_FALSE(refused(text).empty()) << text;
  EXPECT_FALSE(refused(std::string(100000, '[')).empty());
  EXPECT_FALSE(refused("{\"lr\": " + std::string(100000, '[')).empty());
  EXPECT_FALSE(refused("x = \"" + std::string(20000, ']') + "\"\ny = " + std::string(20000, '[')).empty());
  std::string dots;
  for (int i = 0; i < 20000; ++i) dots += ".a";
  EXPECT_FALSE(refused("lr" + dots + " = 1").empty());
  EXPECT_FALSE(refused("[a" + dots + "]").empty());
  EXPECT_FALSE(refused(std::string(2 << 20, '#')).empty());
  EXPECT_TRUE(has(refusal({"--config", (folder_ / "none").string()}), "no such file"));
  EXPECT_TRUE(has(refusal({"--config", folder_.string()}), "not a file"));
  EXPECT_EQ(refused(""), "") << "an empty configuration sets nothing";
}

TEST_F(CommandLineOrigins, EnvironmentIsCheckedToo) {
  EXPECT_TRUE(has(refusal({}, {{"LATHE_LR", "1e-3x"}}), "LATHE_LR: '1e-3x'"));
  auto warnings = parse({}, {{"LATHE_EPOHCS", "3"}, {"LATHE_SOMETHING_ELSE", "1"}}).warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_TRUE(has(warnings[0], "LATHE_EPOCHS"));
}

TEST_F(CommandLineOrigins, PresetsAreValid) {
  for (const Preset& preset : preset_table()) {
    Words words = {"--preset", std::string(preset.name), "--init", "w"};
    auto line = parse(words);
    for (const auto& [name, value] : preset.values) {
      EXPECT_EQ(line.settings.text(std::string(name)), value) << preset.name;
      EXPECT_EQ(line.settings.at(std::string(name)).origin, Origin::preset);
    }
  }
  const OptionSpec* option = find_option("preset");
  EXPECT_EQ(option->choices.size(), preset_table().size());
}

TEST_F(CommandLineOrigins, PrintedConfigurationReadsBack) {
  auto first = parse(
      {"--lr", "1e-7", "--steps", "9", "--augment", "flip=0.5", "--out", "a \"b\"\\c", "--capture", "on"});
  auto again = parse({"--config", write("printed.toml", config_listing(first))});
  for (const OptionSpec* option : options_of(Command::train)) {
    if (option->flag_only) continue;
    std::string name(option->name);
    EXPECT_EQ(first.settings.text(name), again.settings.text(name)) << name;
  }
}

TEST_F(CommandLineOrigins, ResumeKeepsTheRunsOptions) {
  auto first =
      parse({"--lr", "0.05", "--epochs", "9", "--preset", "quick", "--name", "baseline", "--dry-run"});
  write("run/args.json", first.settings.to_json().dump());
  std::string run = (folder_ / "run").string();
  EXPECT_TRUE(has(refusal({"--resume", run}), "state"));
  write("run/state/last.safetensors", "x");

  TrainConfig same = train_config(parse({"--resume", run}));
  EXPECT_EQ(same.resume, run);
  EXPECT_EQ(same.optimizer.lr, 0.05);
  EXPECT_EQ(same.model.width, 0.25);
  EXPECT_EQ(same.epochs, 9);
  EXPECT_FALSE(same.dry_run) << "about one call alone";

  EXPECT_EQ(train_config(parse({"--resume", run, "--epochs", "12", "-j", "3"})).epochs, 12);
  TrainConfig steps = train_config(parse({"--resume", run, "--steps", "77"}));
  EXPECT_EQ(steps.steps, 77);
  EXPECT_FALSE(steps.epochs);
  EXPECT_EQ(train_config(parse({"--resume", run, "--lr", "0.05"})).optimizer.lr, 0.05);
  EXPECT_TRUE(has(refusal({"--resume", run, "--lr", "0.06"}), "'0.06'"));
  EXPECT_TRUE(has(refusal({"--resume", run, "-b", "32"}), "--batch-size"));
  EXPECT_TRUE(has(refusal({"--resume", run}, {{"LATHE_LR", "0.06"}}), "LATHE_LR"));
  EXPECT_FALSE(refusal({"--resume", run, "--init", "w"}).empty());
  EXPECT_TRUE(has(refusal({"--resume", (folder_ / "none").string()}), "no such folder"));

  // The form that a run's folder holds: value and origin of each.
  nlohmann::json records;
  const nlohmann::json plain = first.settings.to_json()["options"];
  for (const auto& [name, value] : plain.items())
    records["options"][name] = {{"value", first.settings.text(name)}, {"origin", "flag"}};
  write("run/args.json", records.dump());
  EXPECT_EQ(train_config(parse({"--resume", run})).optimizer.lr, 0.05);
  EXPECT_EQ(train_config(parse({"--resume", run, "--steps", "77"})).steps, 77);
}

TEST_F(CommandLineOrigins, ResumeAutoTakesTheNewestRunWithAState) {
  fs::path before = fs::current_path();
  fs::current_path(folder_);
  std::string nothing = refusal({"--resume", "auto"});
  std::string args = parse({}).settings.to_json().dump();
  for (const char* run : {"1", "2", "3"}) {
    write(std::string("runs/train/") + run + "/args.json", args);
    if (std::string(run) != "3") write(std::string("runs/train/") + run + "/state/last.safetensors", "x");
  }
  fs::last_write_time("runs/train/1/state/last.safetensors",
                      fs::file_time_type::clock::now() - std::chrono::hours(1));
  std::string found = parse({"--resume", "auto"}).resume;
  fs::current_path(before);
  EXPECT_TRUE(has(nothing, "runs/train"));
  EXPECT_EQ(fs::path(found).filename(), "2");
}

}  // namespace
}  // namespace lathe
