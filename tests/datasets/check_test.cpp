// `data check` finds each planted fault; `data export` writes all or nothing; the scripts that fetch data.
#include "datasets/check.h"

#include <gtest/gtest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "datasets/fruit.h"
#include "datasets/png.h"
#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// A clean set: two classes, three training and two validation pictures each.
void write_clean(const TempFolder& folder) {
  int value = 0;
  for (const std::string name : {"a", "b"}) {
    for (int i = 0; i < 3; ++i)
      folder.write("train/" + name + "/" + std::to_string(i) + ".png", png_of(++value));
    for (int i = 0; i < 2; ++i)
      folder.write("val/" + name + "/" + std::to_string(i) + ".png", png_of(++value));
  }
}

DataReport check(const TempFolder& folder) {
  return check_data(open_sources("folder:" + folder.path(), "", {}), 2);
}

TEST(DataCheck, ACleanSetPasses) {
  const TempFolder folder;
  write_clean(folder);
  folder.write("train/a/wide.png", encode_png(flat(5, 9, 8, 8, 8)));
  const DataReport report = check(folder);
  EXPECT_FALSE(report.spoiled());
  EXPECT_EQ(report.train.pictures, 7);
  EXPECT_EQ(report.train.per_class, (std::vector<int64_t>{4, 3}));
  EXPECT_EQ(report.validation.pictures, 4);
  EXPECT_EQ(report.train.smallest_side, 4);
  EXPECT_EQ(report.train.largest_side, 9);
  EXPECT_EQ(report.train.gray, 1);
  EXPECT_EQ((report.train.sizes.at({5, 9})), 1);
  EXPECT_NEAR(report.imbalance, 4.0 / 3, 1e-12);
}

TEST(DataCheck, EveryPlantedFaultIsFound) {
  {
    const TempFolder folder;
    write_clean(folder);
    folder.write("val/b/copy.png", png_of(2));  // train/a/1.png
    const DataReport report = check(folder);
    ASSERT_EQ(report.across_splits.size(), 1u);
    EXPECT_TRUE(mentions(report.across_splits[0].first, {"train/a/1.png"}));
    EXPECT_TRUE(mentions(report.across_splits[0].second, {"val/b/copy.png"}));
    EXPECT_TRUE(report.spoiled());
  }
  {
    const TempFolder folder;
    write_clean(folder);
    folder.write("train/b/copy.bmp", bmp(flat(4, 4, 2, 0, 77)));  // the same pixels in another format
    const DataReport report = check(folder);
    ASSERT_EQ(report.contradictory.size(), 1u);
    EXPECT_TRUE(report.spoiled());
  }
  {
    const TempFolder folder;
    write_clean(folder);
    folder.write("train/a/copy.png", png_of(2));
    const DataReport report = check(folder);
    ASSERT_EQ(report.repeated.size(), 1u);
    EXPECT_FALSE(report.spoiled()) << "a repeated training picture is worth a line, no more";
  }
  {
    const TempFolder folder;
    write_clean(folder);
    folder.write("val/a/bad.jpg", {1, 2, 3});
    const DataReport report = check(folder);
    ASSERT_EQ(report.validation.bad.size(), 1u);
    EXPECT_TRUE(mentions(report.validation.bad[0], {"bad.jpg", "not a JPEG"}));
    EXPECT_EQ(report.validation.pictures, 4);
    EXPECT_TRUE(report.spoiled());
  }
  {
    const TempFolder folder;
    write_clean(folder);
    folder.make_folder("train/c");
    const DataReport report = check(folder);
    EXPECT_EQ(report.train.per_class[2], 0);
    EXPECT_NEAR(report.imbalance, 1, 1e-12) << "no division by the empty class";
    EXPECT_TRUE(report.spoiled());
    std::string all;
    for (const std::string& line : report.lines()) all += line + "\n";
    EXPECT_TRUE(mentions(all, {"train: 6 pictures", "class 2 'c': 0 pictures", "warning: "}));
  }
}

TEST(DataExport, WritesPngsThatReadBackTheSame) {
  const TempFolder folder;
  Sources sources;
  sources.train = make_fruit({.count = 12, .size = 16});
  sources.validation = make_fruit({.validation = true, .count = 6, .size = 16});
  EXPECT_TRUE(export_data(sources, folder.path("out") + "/", 2).empty());
  const Sources again = open_sources("folder:" + folder.path("out"), "", {});
  ASSERT_EQ(again.train->size(), 12);
  ASSERT_EQ(again.validation->size(), 6);
  for (int64_t i = 0; i < 12; ++i) {
    EXPECT_EQ(again.train->read(i).rgb, sources.train->read(i).rgb);
    EXPECT_EQ(again.train->label(i), sources.train->label(i));
  }
}

TEST(DataExport, AllOrNothing) {
  const TempFolder folder;
  Sources sources;
  sources.train = std::make_unique<NumberSource>(6, 2, std::vector<int64_t>{4});
  folder.make_folder("there");
  EXPECT_EQ(error_of([&] { export_data(sources, folder.path("there"), 1); }).code(), ExitCode::usage);
  EXPECT_EQ(error_of([&] { export_data(sources, "/proc/lathe", 1); }).code(), ExitCode::failure);
  EXPECT_EQ(export_data(sources, folder.path("out"), 1), (std::vector<std::string>{"number/4: broken"}));
  int files = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder.path("out")))
    files += entry.is_regular_file();
  EXPECT_EQ(files, 5);
  int folders = 0;
  for ([[maybe_unused]] const auto& entry : fs::directory_iterator(folder.path())) ++folders;
  EXPECT_EQ(folders, 2) << "no temporary folder is left";
}

TEST(Png, AFailedWriteLeavesThePreviousFile) {
  const TempFolder folder;
  EXPECT_EQ(error_of([&] { write_png(folder.path("none/a.png"), flat(2, 2, 1, 2, 3)); }).code(),
            ExitCode::failure);
  write_png(folder.path("a.png"), flat(2, 2, 1, 2, 3));
  const auto size = fs::file_size(folder.path("a.png"));
  fs::create_directory(folder.path("a.png.tmp"));  // the temporary file cannot be opened
  EXPECT_TRUE(mentions(error_of([&] { write_png(folder.path("a.png"), gradient(9, 9)); }).what(), {"a.png"}));
  EXPECT_EQ(fs::file_size(folder.path("a.png")), size);
}

// Runs a command; its exit code, and what it said on stderr.
std::pair<int, std::string> shell(const TempFolder& folder, const std::string& command) {
  const int status = std::system((command + " >/dev/null 2>" + folder.path("stderr")).c_str());
  std::ifstream file(folder.path("stderr"));
  return {WEXITSTATUS(status), std::string(std::istreambuf_iterator<char>(file), {})};
}

TEST(FetchScript, FailsInOneLineAndLeavesNothing) {
  const TempFolder folder;
  const std::string script = LATHE_SOURCE_DIR "/datasets/fetch.sh";
  auto [code, message] =
      shell(folder, "LATHE_CIFAR10_URL=http://127.0.0.1:9/x " + script + " " + folder.path("data"));
  EXPECT_EQ(code, 1);
  EXPECT_TRUE(mentions(message, {"fetch.sh: http://127.0.0.1:9/x", "--data fruit"}));
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
  EXPECT_TRUE(fs::is_empty(folder.path("data")));
  std::tie(code, message) = shell(folder, script + " /proc/nowhere");
  EXPECT_EQ(code, 1);
  EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
}

TEST(FetchScript, AWrongChecksumIsRefused) {
  const TempFolder folder;
  folder.write("fake.tar.gz", {1, 2, 3});
  const auto [code, message] =
      shell(folder, "LATHE_CIFAR10_URL=file://" + folder.path("fake.tar.gz") + " " +
                        LATHE_SOURCE_DIR "/datasets/fetch.sh " + folder.path("data"));
  EXPECT_EQ(code, 1);
  // Without curl, file:// cannot be downloaded at all, which is refused as well.
  EXPECT_TRUE(mentions(message, {"checksum"}) || mentions(message, {"cannot be downloaded"})) << message;
  EXPECT_TRUE(fs::is_empty(folder.path("data")));
}

TEST(DigitsScript, FailsInOneLineBeforeItFetchesAnything) {
  if (std::system("python3 -c pass 2>/dev/null") != 0) GTEST_SKIP() << "needs python3";
  const TempFolder folder;
  folder.make_folder("there");
  const std::string script = "python3 " LATHE_SOURCE_DIR "/scripts/fetch_digits.py ";
  for (const std::string& arguments : {folder.path("there"), folder.path("new") + " --size 2"}) {
    const auto [code, message] = shell(folder, script + arguments);
    EXPECT_EQ(code, 1);
    EXPECT_TRUE(mentions(message, {"fetch_digits.py: "}));
    EXPECT_EQ(std::count(message.begin(), message.end(), '\n'), 1);
  }
  EXPECT_FALSE(fs::exists(folder.path("new")));
}

}  // namespace
}  // namespace lathe
