// What the command line refuses and how it says so, and the values that it hands to the commands.
#include <gtest/gtest.h>

#include <unistd.h>

#include <clocale>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "apps/command_line/config.h"
#include "apps/command_line/help.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

// The message that `words` are refused with; "" where they are taken.
std::string refusal(const Words& words, const Environment& environment = {}) {
  try {
    parse_command_line(words, environment);
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::usage);
    std::string message = error.what();
    EXPECT_EQ(message.find_first_of("\n\r\x1b"), std::string::npos) << message;
    return message;
  }
  return "";
}

TrainConfig train_with(Words words) {
  words.insert(words.begin(), "train");
  return train_config(parse_command_line(words, {}));
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

TEST(CommandLineValues, BadNumbersNameOptionValueAndRange) {
  for (const char* value : {"abc", "0,1", "1e-3x", "-0.1", "nan", "inf", "-inf", "1e999", "1e-999", "0x1p3",
                            " 1", "1 ", "+1", "1.0.0", "١", "--", ".", "e5"}) {
    std::string equals = refusal({"train", std::string("--lr=") + value});
    EXPECT_TRUE(has(equals, "--lr") && has(equals, value) && has(equals, "a number from 0 to")) << equals;
  }
  for (const char* value :
       {"0", "-4", "5asdf", "99999999999", "1e3", "12.0", "", "9223372036854775808", "1048577"}) {
    for (const Words& words :
         {Words{"train", std::string("--batch-size=") + value}, Words{"train", "-b", value}}) {
      std::string message = refusal(words);
      EXPECT_TRUE(has(message, "--batch-size") && has(message, "a whole number from 1 to 1048576"))
          << message;
    }
  }
}

TEST(CommandLineValues, GoodNumbersAreExact) {
  EXPECT_EQ(train_with({"--lr", "1e-5"}).optimizer.lr, 0.00001);
  EXPECT_EQ(train_with({"--lr", "0"}).optimizer.lr, 0.0);
  EXPECT_EQ(train_with({"--lr=.5"}).optimizer.lr, 0.5);
  EXPECT_FALSE(std::signbit(train_with({"--lr=-0"}).optimizer.lr));
  EXPECT_EQ(train_with({"-b", "1048576"}).batch_size, 1048576);
  EXPECT_EQ(train_with({"-b64"}).batch_size, 64);
  EXPECT_EQ(train_with({"-j4"}).switches.workers, 4);
  EXPECT_EQ(train_with({"--seed", "9007199254740991"}).run.seed, 9007199254740991U);
}

// Every number at its ends is taken, and just outside of them refused, whatever the option.
TEST(CommandLineValues, EveryRangeHoldsAtItsEnds) {
  for (const OptionSpec& option : option_table()) {
    std::string where = "--" + std::string(option.name);
    if (option.kind == Kind::integer) {
      auto least = static_cast<long long>(option.least), most = static_cast<long long>(option.most);
      EXPECT_EQ(checked_value(option, std::to_string(most), where), std::to_string(most));
      EXPECT_EQ(checked_value(option, std::to_string(least), where), std::to_string(least));
      EXPECT_THROW(checked_value(option, std::to_string(most + 1), where), Error) << where;
      EXPECT_THROW(checked_value(option, std::to_string(least - 1), where), Error) << where;
    }
    if (option.kind == Kind::real) {
      EXPECT_LT(option.least, option.most) << where;
      EXPECT_NO_THROW(checked_value(option, "0.5", where)) << where;
      EXPECT_THROW(checked_value(option, "-1", where), Error) << where;
      EXPECT_THROW(checked_value(option, "1e31", where), Error) << where;
    }
    if (option.kind == Kind::choice) {
      for (std::string_view choice : option.choices)
        EXPECT_EQ(checked_value(option, std::string(choice), where), choice);
    }
    EXPECT_THROW(checked_value(option, "", where), Error) << where;
    if (!option.fallback.empty()) {
      EXPECT_NO_THROW(checked_value(option, std::string(option.fallback), where)) << where;
    }
  }
}

TEST(CommandLineValues, MissingRepeatedAndStray) {
  EXPECT_TRUE(has(refusal({"train", "--epochs"}), "--epochs needs a value"));
  EXPECT_TRUE(has(refusal({"train", "--lr", "--epochs", "3"}), "--lr needs a value"));
  EXPECT_TRUE(has(refusal({"train", "-b", "--lr", "1"}), "--batch-size needs a value"));
  EXPECT_TRUE(has(refusal({"train", "--lr="}), "--lr is empty"));
  EXPECT_TRUE(has(refusal({"train", "--lr", "1", "--lr", "1"}), "--lr is given twice"));
  EXPECT_TRUE(has(refusal({"train", "-b", "1", "--batch-size=2"}), "--batch-size is given twice"));
  EXPECT_TRUE(has(refusal({"train", "--strict", "--strict"}), "--strict is given twice"));
  EXPECT_TRUE(has(refusal({"train", "photos"}), "'photos'"));
  EXPECT_TRUE(has(refusal({"train", "--", "--lr"}), "'--lr'"));
  EXPECT_TRUE(has(refusal({}), "no command"));
}

TEST(CommandLineValues, Suggestions) {
  EXPECT_TRUE(has(refusal({"train", "--epohcs", "3"}), "did you mean '--epochs'?"));
  EXPECT_TRUE(has(refusal({"train", "--batch", "3"}), "did you mean '--batch-size'?"));
  EXPECT_TRUE(has(refusal({"train", "-lr", "3"}), "did you mean '--lr'?"));
  EXPECT_TRUE(has(refusal({"trian"}), "did you mean 'train'?"));
  EXPECT_TRUE(has(refusal({"data", "chek"}), "did you mean 'check'?"));
  EXPECT_TRUE(has(refusal({"train", "--optimizer", "adamW"}), "did you mean 'adamw'?"));
  EXPECT_TRUE(has(refusal({"train", "--augment", "standart"}), "did you mean 'standard'?"));
  EXPECT_TRUE(has(refusal({"train", "--augment", "flp=0.5"}), "did you mean 'flip'?"));
  EXPECT_TRUE(has(refusal({"train", "--data", "foldr:x"}), "did you mean 'folder'?"));
  EXPECT_TRUE(has(refusal({"train", "--data", "my/photos"}), "did you mean 'folder:my/photos'?"));
  EXPECT_TRUE(has(refusal({"train", "--kernels", "conv2d=handwriten"}), "did you mean 'handwritten'?"));
  EXPECT_TRUE(has(refusal({"train", "--top", "3"}), "--top is no option of train"));
}

TEST(CommandLineValues, CommandsOfLaterVersionsSaySo) {
  for (const char* command : {"compare", "profile", "plan"})
    EXPECT_TRUE(has(refusal({command}), "not in this version")) << command;
}

TEST(CommandLineValues, SyntaxOfListsAndSources) {
  auto taken = [](const char* option, const char* value) {
    std::string message = refusal({"train", std::string("--") + option + "=" + value});
    EXPECT_TRUE(message.empty() || has(message, std::string("--") + option)) << message;
    return message.empty();
  };
  for (const char* value : {"none", "heavy", "crop=4,flip=0.5,cutout=8", "resized-crop=0.6", "rotation=180",
                            "zoom=0.1,shift=0.1,brightness=0.2,contrast=0.2,saturation=0.2"})
    EXPECT_TRUE(taken("augment", value)) << value;
  for (const char* value :
       {"crop", "crop=", "crop=4.5", "crop=-1", "flip=1.5", "flip=0.5,flip=0.5", "flip=nan", ",", "flip=0.5,",
        "standard,flip=1", "rotation=181", "resized-crop=0", "=1", "flip=0,5", "crop=40"})
    EXPECT_FALSE(taken("augment", value)) << value;
  EXPECT_EQ(refusal({"train", "--augment", "crop=40", "--image-size", "64"}), "");
  for (const char* value : {"cifar10", "none", "0.5,0.5,0.5/0.25,0.25,0.25", "0,-1,1e-3/1,1,1"})
    EXPECT_TRUE(taken("normalize", value)) << value;
  for (const char* value : {"0.5/0.5", "0.5,0.5,0.5/0.25,0,0.25", "0.5,0.5,0.5/1,1,-1", "a,b,c/1,1,1",
                            "1,1,1/1,1,1/1,1,1", "0.5,0.5,0.5/1,1,1e-60", "imagnet"})
    EXPECT_FALSE(taken("normalize", value)) << value;
  for (const char* value : {"fruit", "fruit:train=100", "folder:a:b", "cifar10:.", "idx:/data"})
    EXPECT_TRUE(taken("data", value)) << value;
  for (const char* value : {"folder", "folder:", "fruit:train=x", ":x", "photos", "http://x"})
    EXPECT_FALSE(taken("data", value)) << value;
  for (const char* value : {"first:0", "first:17", "first:", "first:x", "all", "first:1x"})
    EXPECT_FALSE(taken("freeze", value)) << value;
  for (const char* value : {"a/b", "..", ".hidden", "a b", "-x", "a\tb"})
    EXPECT_FALSE(taken("name", value)) << value;
  EXPECT_EQ(train_with({"--freeze", "first:3"}).model.freeze_first, 3);
}

TEST(CommandLineValues, OnAndOff) {
  EXPECT_TRUE(train_with({"--capture"}).switches.capture);
  EXPECT_TRUE(train_with({"--capture", "on"}).switches.capture);
  EXPECT_FALSE(train_with({"--overlap=off"}).switches.overlap);
  EXPECT_FALSE(train_with({"--nesterov", "off"}).optimizer.nesterov);
  EXPECT_TRUE(train_with({"--drop-last", "--strict"}).switches.strict);
  EXPECT_TRUE(has(refusal({"train", "--capture", "maybe"}), "on or off"));
  CommandLine line = parse_command_line({"predict", "--weights", "w", "--json", "on", "--", "-x.jpg"}, {});
  EXPECT_EQ(line.positionals, (Words{"on", "-x.jpg"})) << "a flag takes no word with it";
}

TEST(CommandLineValues, Contradictions) {
  EXPECT_TRUE(has(refusal({"train", "--epochs", "3", "--steps", "3"}), "--epochs and --steps"));
  EXPECT_TRUE(has(refusal({"train", "-q", "-v"}), "--quiet and --verbose"));
  EXPECT_TRUE(has(refusal({"train", "--out", "a", "--name", "b"}), "--out and --name"));
  EXPECT_TRUE(has(refusal({"train", "--new-head"}), "--init"));
  EXPECT_TRUE(has(refusal({"predict", "--weights", "w"}), "picture"));
  EXPECT_TRUE(has(refusal({"evaluate"}), "--weights"));
  EXPECT_FALSE(train_with({"--steps", "3"}).epochs);
  EXPECT_EQ(train_with({"--steps", "3"}).steps, 3);
}

TEST(CommandLineValues, IdleOptionsAreNamed) {
  auto warnings = parse_command_line({"train", "--beta1", "0.8", "--dropout", "0.2"}, {}).warnings;
  ASSERT_EQ(warnings.size(), 2U);
  EXPECT_TRUE(has(warnings[0], "--beta1 has no effect with --optimizer sgd"));
  EXPECT_TRUE(parse_command_line({"train", "--beta1", "0.8", "--optimizer", "adam"}, {}).warnings.empty());
}

TEST(CommandLineValues, DefaultsAreTheMainJob) {
  TrainConfig config = default_train_config();
  EXPECT_EQ(config.data.spec, "fruit");
  EXPECT_EQ(config.model.model, "vgg16_bn");
  EXPECT_EQ(config.data.image_size, 32);
  EXPECT_TRUE(config.epochs && !config.steps && !config.target && !config.patience);
  Options engine;  // the table and the engine must agree
  EXPECT_EQ(config.switches, engine);
}

// Numbers mean the same where a comma is the decimal sign. The locale is made here where it is not installed.
TEST(CommandLineValues, NumbersDoNotFollowTheLocale) {
  fs::path folder = fs::temp_directory_path() / ("lathe_locale_" + std::to_string(getpid()));
  fs::create_directories(folder);
  if (!std::setlocale(LC_ALL, "de_DE.UTF-8")) {
    std::string make =
        "localedef -i de_DE -f UTF-8 '" + (folder / "de_DE.UTF-8").string() + "' >/dev/null 2>&1";
    bool made = std::system(make.c_str()) == 0;
    setenv("LOCPATH", folder.c_str(), 1);
    if (!made || !std::setlocale(LC_ALL, "de_DE.UTF-8")) {
      fs::remove_all(folder);
      GTEST_SKIP() << "de_DE.UTF-8 is not installed and cannot be made here";
    }
  }
  ASSERT_STREQ(std::localeconv()->decimal_point, ",");
  std::ofstream(folder / "a.toml") << "momentum = 0.25\n";
  std::ofstream(folder / "a.json") << "{\"momentum\": 0.25}";
  for (const char* file : {"a.toml", "a.json"})
    EXPECT_EQ(train_with({"--config", (folder / file).string()}).optimizer.momentum, 0.25) << file;
  std::string listing = config_listing(parse_command_line({"train", "--lr", "0.125"}, {}));
  TrainConfig config = train_with({"--lr", "1e-5", "--width", "0.5"});
  std::string refused = refusal({"train", "--lr", "0,1"});
  std::string json = config.run.settings.to_json().dump();
  std::setlocale(LC_ALL, "C");
  unsetenv("LOCPATH");
  fs::remove_all(folder);
  EXPECT_TRUE(has(listing, "lr = 0.125")) << listing;
  EXPECT_EQ(config.optimizer.lr, 0.00001);
  EXPECT_EQ(config.model.width, 0.5);
  EXPECT_TRUE(has(refused, "'0,1'"));
  EXPECT_TRUE(has(json, "\"width\":0.5")) << json;
}

}  // namespace
}  // namespace lathe
