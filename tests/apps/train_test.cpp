// lathe train as a user meets it: stopping, resuming, accumulating, freezing, evaluating, predicting, bad
// input.
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "engine/runtime/safetensors.h"
#include "tests/apps/program.h"

namespace lathe {
namespace {

const std::string kSmall =
    " --data fruit:train=72,val=36 --width 0.125 --batch-size 16 --lr 0.02 --warmup-epochs 0 -q ";

std::string read(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<nlohmann::json> events(const fs::path& run, const std::string& kind) {
  std::vector<nlohmann::json> found;
  std::ifstream file(run / "events.jsonl");
  for (std::string line; std::getline(file, line);) {
    nlohmann::json event = nlohmann::json::parse(line);
    if (event["event"] == kind) found.push_back(event);
  }
  return found;
}

std::vector<double> losses(const fs::path& run) {
  std::vector<double> values;
  for (const auto& event : events(run, "step")) values.push_back(event["loss"].get<double>());
  return values;
}

// Names of the tensors that differ in any bit.
std::vector<std::string> differing(const fs::path& a, const fs::path& b) {
  SafetensorsFile first = SafetensorsFile::open(a), second = SafetensorsFile::open(b);
  std::vector<std::string> names;
  for (const auto& [name, tensor] : first.tensors()) {
    const TensorView& other = second.tensor(name);
    if (!std::equal(tensor.bytes.begin(), tensor.bytes.end(), other.bytes.begin(), other.bytes.end()))
      names.push_back(name);
  }
  return names;
}

class Train : public ProgramTest {
 protected:
  Result lathe(const std::string& words) const { return shell("\"$LATHE\" " + words); }
  void expect_done(const std::string& words) const {
    Result result = lathe(words);
    EXPECT_EQ(result.code, 0) << words << "\n" << result.output;
  }
};

TEST_F(Train, WritesEverythingThatARunPromises) {
  expect_done("train --epochs 2 --out run" + kSmall);
  for (const char* file :
       {"args.json", "events.jsonl", "results.csv", "train.log", "classes.txt", "weights/best.safetensors",
        "weights/last.safetensors", "state/last.safetensors", "report.html"}) {
    EXPECT_TRUE(fs::file_size(folder_ / "run" / file) > 0) << file;
  }
  EXPECT_EQ(events(folder_ / "run", "step").size(), 10U);  // 72 pictures in 16s: five a pass
  EXPECT_EQ(events(folder_ / "run", "eval").size(), 2U);
  EXPECT_EQ(events(folder_ / "run", "run_end")[0]["exit_code"], 0);
  EXPECT_EQ(read(folder_ / "run" / "report.html").find("http://"), std::string::npos);
  EXPECT_EQ(read(folder_ / "run" / "train.log").find_first_of("\r\x1b"), std::string::npos);
}

TEST_F(Train, TheSameSeedGivesTheSameBitsWhateverTheWorkersCaptureAndMemory) {
  expect_done("train --steps 6 --out a" + kSmall + "--workers 1");
  int run = 0;
  for (const char* how : {"--workers 0", "--workers 4", "--capture on", "--memory naive", "--overlap off"}) {
    std::string out = "b" + std::to_string(run++);
    expect_done("train --steps 6 --out " + out + kSmall + how);
    EXPECT_EQ(differing(folder_ / "a/weights/last.safetensors", folder_ / out / "weights/last.safetensors"),
              std::vector<std::string>{})
        << how;
  }
  expect_done("train --steps 6 --winograd on --workers 0 --out c" + kSmall);
  expect_done("train --steps 6 --winograd on --capture on --memory naive --out d" + kSmall);
  EXPECT_EQ(differing(folder_ / "c/weights/last.safetensors", folder_ / "d/weights/last.safetensors"),
            std::vector<std::string>{});
  expect_done("train --steps 6 --seed 2 --out other" + kSmall);
  EXPECT_NE(losses(folder_ / "a"), losses(folder_ / "other"));
}

TEST_F(Train, AResumedRunIsBitwiseTheUninterruptedOne) {
  // The classic head has dropout; a limit on steps stops at any point of an epoch without touching the
  // schedule.
  const std::string how = kSmall + "--head classic --schedule constant --accumulate 2 ";
  expect_done("train --epochs 3 --out whole" + how);
  for (int cut : {1, 3, 5}) {  // three updates an epoch
    std::string out = "cut" + std::to_string(cut);
    expect_done("train --steps " + std::to_string(cut) + " --out " + out + how);
    expect_done("train --resume " + out + " --epochs 3 -q");
    EXPECT_EQ(losses(folder_ / out), losses(folder_ / "whole")) << "cut at " << cut;
    EXPECT_EQ(differing(folder_ / "whole/state/last.safetensors", folder_ / out / "state/last.safetensors"),
              std::vector<std::string>{})
        << "cut at " << cut;
  }
}

TEST_F(Train, AResumedRunKeepsItsDataAndItsNewEnd) {
  expect_done("data export --data fruit:train=24,val=12 --out pictures -q");
  const std::string how = " --data folder:pictures --width 0.125 --batch-size 8 --schedule constant -q ";
  expect_done("train --steps 2 --out run" + how);
  expect_done("train --resume run --steps 4 -q");
  expect_done("train --resume run -q");  // at its end already
  EXPECT_EQ(losses(folder_ / "run").size(), 4U);
  EXPECT_EQ(lathe("train --resume run --steps 3 -q").code, 2);
  std::string classes = read(folder_ / "run/classes.txt");
  for (const char* part : {"train", "val"})
    fs::rename(folder_ / "pictures" / part / "rottenoranges", folder_ / "pictures" / part / "a");
  Result swapped = lathe("train --resume run --steps 6 -q");
  EXPECT_EQ(swapped.code, 3) << swapped.output;
  EXPECT_NE(swapped.output.find("classes"), std::string::npos) << swapped.output;
  EXPECT_EQ(read(folder_ / "run/classes.txt"), classes);
  for (const char* part : {"train", "val"})
    fs::rename(folder_ / "pictures" / part / "a", folder_ / "pictures" / part / "rottenoranges");
  auto some = fs::directory_iterator(folder_ / "pictures/train/freshapples")->path();
  fs::rename(some, folder_ / "pictures/train/rottenoranges/moved.png");
  EXPECT_EQ(lathe("train --resume run --steps 6 -q").code, 3);
}

TEST_F(Train, AFullTerminalIsNoCrash) {
  if (!fs::exists("/dev/full")) GTEST_SKIP() << "no /dev/full";
  EXPECT_EQ(lathe("train --zzz 2>/dev/full").code, 2);
  EXPECT_EQ(lathe("train --steps 1 --out run" + kSmall + ">/dev/full 2>&1").code, 1);
}

TEST_F(Train, ASignalSavesAndSaysHowToGoOn) {
  const std::string how = kSmall + "--schedule constant ";
  Result stopped =
      shell("true; \"$LATHE\" train --epochs 400 --out run" + how +
            " & pid=$!; for i in $(seq 600); do grep -q '\"step\":3,' run/events.jsonl 2>/dev/null && break; "
            "sleep 0.05; done; kill -TERM $pid; wait $pid");
  EXPECT_EQ(stopped.code, 143) << stopped.output;
  EXPECT_TRUE(fs::exists(folder_ / "run/state/last.safetensors"));
  EXPECT_NE(read(folder_ / "run/train.log").find("--resume"), std::string::npos);
  size_t done = losses(folder_ / "run").size();
  expect_done("train --resume run -q --epochs " + std::to_string(done / 5 + 1));
  expect_done("train --out whole --epochs " + std::to_string(done / 5 + 1) + how);
  EXPECT_EQ(losses(folder_ / "run"), losses(folder_ / "whole"));
}

TEST_F(Train, AKilledRunLeavesAConsistentState) {
  for (int round = 0; round < 8; ++round) {
    shell("rm -rf run; \"$LATHE\" train --epochs 400 --out run" + kSmall + " & pid=$!; sleep 0." +
          std::to_string(4 + round % 6) + "; kill -9 $pid; wait $pid");
    if (!fs::exists(folder_ / "run/state/last.safetensors")) continue;  // killed before the first epoch's end
    Result resumed = lathe("train --resume run -q --epochs 400 --dry-run");
    EXPECT_EQ(resumed.code, 0) << resumed.output;
    EXPECT_NO_THROW(SafetensorsFile::open(folder_ / "run/state/last.safetensors"));
    EXPECT_NO_THROW(SafetensorsFile::open(folder_ / "run/weights/best.safetensors"));
  }
}

TEST_F(Train, AccumulationIsTheLargerBatch) {
  const std::string how =
      " --data fruit:train=64,val=36 --width 0.125 --model vgg16 --lr 0.01 --warmup-epochs 0 --steps 4 -q ";
  expect_done("train --batch-size 32 --out whole" + how);
  expect_done("train --batch-size 8 --accumulate 4 --out parts" + how);
  std::vector<double> whole = losses(folder_ / "whole"), parts = losses(folder_ / "parts");
  ASSERT_EQ(whole.size(), parts.size());
  for (size_t i = 0; i < whole.size(); ++i)
    EXPECT_NEAR(whole[i], parts[i], 1e-4 * whole[i]) << "update " << i + 1;
}

// --layout native keeps activations in the library's layout; what asks for other kernels comes first.
TEST_F(Train, HandwrittenKernelsAreUsedUnderEveryLayoutAndLearnAsTheLibrarys) {
  for (const std::string layout : {"nchw", "native"}) {
    expect_done("train --epochs 1 --kernels handwritten --layout " + layout + " --out " + layout + kSmall);
    std::string kernels;
    for (const auto& event : events(folder_ / layout, "switch"))
      if (event["name"] == "kernels") kernels = event.dump();
    EXPECT_NE(kernels.find("handwritten"), std::string::npos) << kernels;
    EXPECT_EQ(kernels.find("conv2d"), std::string::npos) << kernels;
  }
  EXPECT_EQ(losses(folder_ / "nchw"), losses(folder_ / "native"));
  expect_done("train --epochs 1 --kernels library --out library" + kSmall);
  std::vector<double> library = losses(folder_ / "library"), handwritten = losses(folder_ / "native");
  ASSERT_EQ(library.size(), handwritten.size());
  for (size_t i = 0; i < library.size(); ++i) EXPECT_NEAR(handwritten[i], library[i], 1e-3) << "step " << i;
}

TEST_F(Train, EvaluatesAsOftenAsAskedAndAlwaysAtTheEnd) {
  expect_done("train --epochs 5 --eval-every 2 --out run" + kSmall);
  std::vector<int64_t> epochs;
  for (const auto& event : events(folder_ / "run", "eval")) epochs.push_back(event["epoch"].get<int64_t>());
  EXPECT_EQ(epochs, (std::vector<int64_t>{2, 4, 5}));
  EXPECT_EQ(lathe("train --eval-every 0 --out none" + kSmall).code, 2);
}

TEST_F(Train, FrozenLayersDoNotMoveByABit) {
  expect_done("train --steps 3 --out first" + kSmall);
  expect_done(
      "train --steps 10 --init first/weights/last.safetensors --freeze features --weight-decay 0.01 --out "
      "second" +
      kSmall);
  for (const std::string& name :
       differing(folder_ / "first/weights/last.safetensors", folder_ / "second/weights/last.safetensors")) {
    EXPECT_TRUE(name.rfind("classifier.", 0) == 0 || name.find("num_batches_tracked") != std::string::npos)
        << name;
  }
}

TEST_F(Train, EvaluationIsAPureFunction) {
  expect_done("train --epochs 2 --out run" + kSmall);
  const std::string evaluate =
      "evaluate --weights run/weights/best.safetensors --data fruit:val=36 --json -q ";
  std::string first = lathe(evaluate).output;
  nlohmann::json json = nlohmann::json::parse(first);
  auto best = events(folder_ / "run", "eval");
  double top1 = 0;
  for (const auto& event : best) top1 = std::max(top1, event["top1"].get<double>());
  EXPECT_EQ(json["top1"].get<double>(), top1);
  for (const char* how : {"", "--workers 4", "-b 1", "-b 7", "-b 36", "-b 50"})
    EXPECT_EQ(lathe(evaluate + how).output, first) << how;
}

TEST_F(Train, PredictNamesEveryPictureAndItsFaults) {
  expect_done("train --steps 2 --out run" + kSmall);
  expect_done("data export --data fruit:train=6,val=6 --out pictures -q");
  std::ofstream(folder_ / "pictures" / "broken.png") << "not a picture";
  Result result = lathe("predict --weights run/weights/best.safetensors --json pictures");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(std::count(result.output.begin(), result.output.end(), '\n'), 13) << result.output;
  EXPECT_NE(result.output.find("broken.png\",\"error\""), std::string::npos) << result.output;
  EXPECT_EQ(lathe("predict --weights run/weights/best.safetensors --strict-data pictures").code, 3);
  EXPECT_EQ(lathe("predict --weights run/state/missing.safetensors pictures").code, 1);
}

TEST_F(Train, BadInputIsOneLineAndTheRightCode) {
  expect_done("train --steps 1 --out run" + kSmall);
  std::ofstream(folder_ / "torn.safetensors")
      << read(folder_ / "run/weights/last.safetensors").substr(0, 5000);
  struct Case {
    std::string words;
    int code;
    std::string says;
  };
  const std::vector<Case> cases = {
      {"train --data folder:nowhere", 3, "nowhere"},
      {"train --init run/weights/last.safetensors --width 0.25 --data fruit:train=12,val=6", 2, "has shape"},
      {"train --init run/weights/last.safetensors --head classic --width 0.125 --data fruit:train=12,val=6",
       2, "classifier.3.weight"},
      {"train --init torn.safetensors --width 0.125 --data fruit:train=12,val=6", 3, "torn.safetensors"},
      {"train --out run" + kSmall, 2, "run"},
      {"train --target 1 --epochs 1 --out missed" + kSmall, 6, "MISSED"},
      {"train --model vgg16 --lr 1e6 --epochs 2 --out diverged --data fruit:train=24,val=6 --width 0.125 "
       "--warmup-epochs 0",
       5, "--lr"},
      {"train --batch-size 100 --drop-last --data fruit:train=12,val=6 --out few", 2, "batch"},
      {"train --strict --fusion on" + kSmall, 2, "fusion"},
      {"train --init missing.safetensors --out few" + kSmall, 1, "missing.safetensors"},
      {"train --data fruit:val=1000000000000 --out few", 2, "10000000"},
      {"evaluate --weights torn.safetensors", 3, "torn.safetensors"},
  };
  for (const Case& c : cases) {
    Result result = lathe(c.words);
    EXPECT_EQ(result.code, c.code) << c.words << "\n" << result.output;
    EXPECT_NE(result.output.find(c.says), std::string::npos) << c.words << "\n" << result.output;
  }
  EXPECT_FALSE(fs::exists(folder_ / "few"));      // refused before anything is written
  EXPECT_EQ(losses(folder_ / "run").size(), 1U);  // the run that was there is as it was
}

TEST_F(Train, DryRunChecksAndWritesNothing) {
  Result result = lathe("train --dry-run" + kSmall);
  EXPECT_EQ(result.code, 0);
  EXPECT_NE(result.output.find("arena"), std::string::npos);
  EXPECT_TRUE(fs::is_empty(folder_));
}

TEST_F(Train, PreviewShowsThePicturesOfTheRealPipeline) {
  Result result = lathe("data preview --data fruit:train=12,val=6 --count 3 --out preview -q");
  EXPECT_EQ(result.code, 0) << result.output;
  EXPECT_EQ(read(folder_ / "preview" / "preview.png").substr(1, 3), "PNG");
}

}  // namespace
}  // namespace lathe
