// SPECs, folders of class folders, splits, and the mapping of classes by name.
#include "datasets/open.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <algorithm>
#include <clocale>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "datasets/folder.h"
#include "datasets/pipeline.h"
#include "datasets/png.h"
#include "datasets/spec.h"
#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;
using Names = std::vector<std::string>;

// Class folders with `count` different pictures each.
void add_classes(const TempFolder& folder, const std::string& under, const Names& classes, int count) {
  static int value = 0;
  for (const std::string& name : classes) {
    for (int i = 0; i < count; ++i) {
      folder.write(under + "/" + name + "/" + std::to_string(i) + ".png", png_of(++value));
    }
  }
}

Names labelled_files(const Source& source) {
  Names result;
  for (int64_t i = 0; i < source.size(); ++i) {
    result.push_back(std::to_string(source.label(i)) + " " + fs::path(source.name(i)).filename().native());
  }
  return result;
}

bool any_mentions(const Names& lines, const std::vector<std::string>& parts) {
  return std::any_of(lines.begin(), lines.end(),
                     [&](const std::string& line) { return bool(mentions(line, parts)); });
}

TEST(Spec, Grammar) {
  EXPECT_EQ(parse_spec("fruit").kind, Spec::Kind::fruit);
  EXPECT_EQ(parse_spec("folder:a:b,c=d").directory, "a:b,c=d");
  EXPECT_EQ(parse_spec("cifar100:/x").kind, Spec::Kind::cifar100);
  const Spec spec = parse_spec("fruit:train=12,val=6,size=64,seed=9");
  EXPECT_EQ(spec.fruit.train, 12);
  EXPECT_EQ(spec.fruit.val, 6);
  EXPECT_EQ(spec.fruit.size, 64);
  EXPECT_EQ(spec.fruit.seed, 9u);
}

TEST(Spec, MistakesAreUsageErrorsThatHelp) {
  const std::map<std::string, std::vector<std::string>> cases = {
      {"fruits", {"unknown kind", "did you mean 'fruit'"}},
      {"cifar:x", {"did you mean 'cifar10'"}},
      {"./pictures", {"did you mean 'folder:./pictures'"}},
      {"", {"unknown kind"}},
      {"folder:", {"folder is missing"}},
      {"idx", {"folder is missing"}},
      {"fruit:trian=5", {"'trian'", "'train'"}},
      {"fruit:train", {"train=100"}},
      {"fruit:train=", {"whole number"}},
      {"fruit:train=5x", {"whole number"}},
      {"fruit:train=-5", {"whole number"}},
      {"fruit:train=99999999999999999999", {"whole number"}},
      {"fruit:size=32,size=64", {"twice"}},
      {"fruit:,", {"unknown option"}}};
  for (const auto& [text, parts] : cases) {
    const Error error = error_of([&, &text = text] { parse_spec(text); });
    EXPECT_EQ(error.code(), ExitCode::usage) << text;
    EXPECT_TRUE(mentions(error.what(), parts));
  }
}

TEST(Folder, JunkIsNeitherSampleNorClass) {
  const TempFolder folder;
  add_classes(folder, "train", {"a", "b"}, 3);
  for (const char* name :
       {"a/.DS_Store", "a/Thumbs.db", "a/desktop.ini", "b/._img.jpg", ".DS_Store", "Thumbs.db",
        ".ipynb_checkpoints/0.png", "__MACOSX/a/0.png", "a/.ipynb_checkpoints/0-checkpoint.png"}) {
    folder.write(std::string("train/") + name, {1, 2, 3});
  }
  Names warnings;
  const auto source = folder_source(folder.path("train"), Decoder::automatic, warnings);
  EXPECT_EQ(source->classes(), (Names{"a", "b"}));
  EXPECT_EQ(labelled_files(*source),
            (Names{"0 0.png", "0 1.png", "0 2.png", "1 0.png", "1 1.png", "1 2.png"}));
  EXPECT_TRUE(warnings.empty());

  folder.write("train/a/notes.txt", {'x'});
  folder.write("train/stray.jpg", png_of(1));
  EXPECT_EQ(folder_source(folder.path("train"), Decoder::automatic, warnings)->size(), 6);
  ASSERT_EQ(warnings.size(), 2u);
  EXPECT_TRUE(any_mentions(warnings, {"1 pictures are not in a class folder", "stray.jpg"}));
  EXPECT_TRUE(any_mentions(warnings, {"1 files", "notes.txt"}));
}

TEST(Folder, OrderIsByBytesWhateverTheLocaleOrTheFileSystem) {
  const TempFolder folder;
  for (const char* name : {"10", "2", "1", "b", "B", "a", "\xc3\xa4"}) add_classes(folder, "d", {name}, 1);
  for (const char* name : {"z", "Z", "10", "9", "sub/0"}) {
    folder.write(std::string("d/a/") + name + ".png", png_of(5));
  }
  const char* before = std::setlocale(LC_ALL, nullptr);
  const std::string saved = before;
  for (const char* locale : {"C", "de_DE.UTF-8", "C.UTF-8"}) {
    std::setlocale(LC_ALL, locale);  // one that is not installed changes nothing
    Names warnings;
    const auto source = folder_source(folder.path("d"), Decoder::automatic, warnings);
    EXPECT_EQ(source->classes(), (Names{"1", "10", "2", "B", "a", "b", "\xc3\xa4"}));
    Names files = labelled_files(*source);
    EXPECT_EQ(Names(files.begin() + 4, files.begin() + 10),
              (Names{"4 0.png", "4 10.png", "4 9.png", "4 Z.png", "4 0.png", "4 z.png"}));
  }
  std::setlocale(LC_ALL, saved.c_str());
}

TEST(Folder, LinksAreFollowedAndLoopsAreNot) {
  const TempFolder folder;
  add_classes(folder, "d", {"a", "b"}, 2);
  add_classes(folder, "elsewhere", {"c"}, 2);
  fs::create_directory_symlink(folder.path("elsewhere/c"), folder.path("d/c"));
  fs::create_symlink(folder.path("elsewhere/c/0.png"), folder.path("d/a/link.png"));
  fs::create_directory_symlink("..", folder.path("d/b/loop"));
  fs::create_directory_symlink(folder.path("d/b"), folder.path("d/b/self"));
  fs::create_symlink("nowhere", folder.path("d/b/dangling.png"));
  ASSERT_EQ(mkfifo(folder.path("d/b/pipe.png").c_str(), 0600), 0);  // opening it would wait for ever
  const Datasets datasets = open_datasets("folder:" + folder.path("d"), "", {.val_split = 0});
  EXPECT_EQ(datasets.train->classes(), (Names{"a", "b", "c"}));
  EXPECT_TRUE(any_mentions(datasets.warnings, {"dangling.png", "no such file"}));
  const std::vector<int64_t> counts = datasets.train->class_counts();
  EXPECT_EQ(counts[0], 3);
  EXPECT_EQ(counts[2], 2);
}

TEST(Folder, NothingToReadIsAnError) {
  const TempFolder folder;
  const auto message = [&](const std::string& name) {
    Names warnings;
    const Error error = error_of([&] { folder_source(folder.path(name), Decoder::automatic, warnings); });
    EXPECT_EQ(error.code(), ExitCode::data);
    return std::string(error.what());
  };
  EXPECT_TRUE(mentions(message("none"), {"none", "no such folder"}));
  folder.make_folder("empty");
  EXPECT_TRUE(mentions(message("empty"), {"no class folders"}));
  folder.make_folder("hollow/a");
  EXPECT_TRUE(mentions(message("hollow"), {"no JPEG, PNG or BMP pictures"}));
  folder.write("flat/a.png", png_of(1));
  EXPECT_TRUE(mentions(message("flat"), {"no class folders"}));
  folder.write("odd/a\nb/a.png", png_of(1));
  EXPECT_TRUE(mentions(message("odd"), {"control character"}));
  folder.write("latin/caf\xe9/a.png", png_of(1));
  EXPECT_TRUE(mentions(message("latin"), {"not UTF-8"}));
}

TEST(Open, ClassesComeFromTrainingAndAreMatchedByName) {
  const TempFolder folder;
  add_classes(folder, "train", {"0", "90", "180", "270"}, 2);
  add_classes(folder, "val", {"0", "90", "270"}, 1);
  const std::string spec = "folder:" + folder.path();
  const auto check = [&](const Sources& sources) {
    EXPECT_EQ(sources.train->classes(), (Names{"0", "180", "270", "90"}));
    EXPECT_EQ(sources.validation->classes(), sources.train->classes());
    EXPECT_EQ(labelled_files(*sources.validation), (Names{"0 0.png", "2 0.png", "3 0.png"}));
    EXPECT_TRUE(any_mentions(sources.warnings, {"'180' has no pictures"}));
  };
  check(open_sources(spec, "", {}));
  folder.make_folder("val/180");  // an empty class folder is the same
  check(open_sources(spec, "", {}));
  add_classes(folder, "val", {"45"}, 1);
  const Error error = error_of([&] { open_sources(spec, "", {}); });
  EXPECT_EQ(error.code(), ExitCode::data);
  EXPECT_TRUE(mentions(error.what(), {"'45'"}));
}

TEST(Open, AnEmptyTrainingClassKeepsItsNumber) {
  const TempFolder folder;
  add_classes(folder, "train", {"a", "c"}, 2);
  folder.make_folder("train/b");
  const Datasets datasets = open_datasets("folder:" + folder.path("train"), "", {.val_split = 0});
  EXPECT_EQ(datasets.train->classes(), (Names{"a", "b", "c"}));
  EXPECT_EQ(datasets.train->class_counts(), (std::vector<int64_t>{2, 0, 2}));
  EXPECT_TRUE(any_mentions(datasets.warnings, {"'b' has no pictures"}));
  EXPECT_EQ(datasets.validation, nullptr);
}

TEST(Open, ValidationFoldersByTheirThreeNames) {
  for (const std::string name : {"val", "valid", "validation"}) {
    const TempFolder folder;
    add_classes(folder, "train", {"a", "b"}, 2);
    add_classes(folder, name, {"a", "b"}, 1);
    add_classes(folder, "test", {"a", "b"}, 3);
    EXPECT_EQ(open_sources("folder:" + folder.path(), "", {}).validation->size(), 2) << name;
    EXPECT_EQ(open_evaluation("folder:" + folder.path(), {"a", "b"}, {}).set->size(), 6) << "the test folder";
  }
}

TEST(Open, AClassMayBeCalledTrain) {
  const TempFolder folder;
  add_classes(folder, "d", {"bus", "train", "val"}, 4);
  const Sources sources = open_sources("folder:" + folder.path("d"), "", {});
  EXPECT_EQ(sources.train->classes(), (Names{"bus", "train", "val"}));
}

TEST(Open, StratifiedSplitHoldsOutSomeOfEveryClass) {
  const TempFolder folder;
  add_classes(folder, "d", {"many"}, 40);
  add_classes(folder, "d", {"two"}, 2);
  add_classes(folder, "d", {"one"}, 1);
  const std::string spec = "folder:" + folder.path("d");
  const auto split = [&](uint64_t seed, double share) {
    Sources sources = open_sources(spec, "", {.val_split = share, .seed = seed});
    EXPECT_TRUE(any_mentions(sources.warnings, {"'one' has one picture"}));
    std::set<std::string> names;
    std::map<std::string, int> held_out;
    for (int64_t i = 0; i < sources.train->size(); ++i) names.insert(sources.train->name(i));
    for (int64_t i = 0; i < sources.validation->size(); ++i) {
      EXPECT_TRUE(names.insert(sources.validation->name(i)).second) << "in both splits";
      ++held_out[sources.validation->classes()[sources.validation->label(i)]];
    }
    EXPECT_EQ(names.size(), 43u);
    EXPECT_EQ(held_out["many"], std::lround(40 * share));
    EXPECT_EQ(held_out["two"], 1);
    EXPECT_EQ(held_out["one"], 0);
    return labelled_files(*sources.validation);
  };
  EXPECT_EQ(split(1, 0.1), split(1, 0.1));
  EXPECT_NE(split(1, 0.25), split(2, 0.25));
  EXPECT_EQ(error_of([&] { open_sources(spec, "", {.val_split = 1}); }).code(), ExitCode::usage);
  EXPECT_EQ(error_of([&] { open_sources(spec, "", {.val_split = -0.1}); }).code(), ExitCode::usage);
}

TEST(Open, ASeparateValidationSpec) {
  const TempFolder folder;
  add_classes(folder, "d", {"a", "b"}, 10);
  add_classes(folder, "other", {"b"}, 3);
  const Datasets datasets = open_datasets("folder:" + folder.path("d"), "folder:" + folder.path("other"), {});
  EXPECT_EQ(datasets.train->size(), 20) << "nothing is held out";
  EXPECT_EQ(datasets.validation->class_counts(), (std::vector<int64_t>{0, 3}));
  EXPECT_EQ(error_of([&] { open_datasets("fruit:train=6", "folder:" + folder.path("other"), {}); }).code(),
            ExitCode::data);
  add_classes(folder, "only/train", {"a"}, 1);
  EXPECT_TRUE(mentions(error_of([&] { open_evaluation("folder:" + folder.path("only"), {"a"}, {}); }).what(),
                       {"folder:", "/train"}));
}

TEST(Open, OneBadFileDoesNotStopTheRun) {
  const TempFolder folder;
  add_classes(folder, "d", {"a", "b"}, 10);
  folder.write("d/a/zero.jpg", {});
  const Bytes whole = jpeg(gradient(64, 64));
  folder.write("d/a/header.jpg", Bytes(whole.begin(), whole.begin() + 20));
  Bytes flipped = encode_png(gradient(64, 64));
  flipped[60] ^= 0x40;
  folder.write("d/b/flipped.png", flipped);
  folder.write("d/b/thin.png", encode_png(flat(2000, 1, 9, 9, 9)));
  OpenOptions options{.stage = {.image_size = 256, .workers = 8}, .val_split = 0};
  const std::string spec = "folder:" + folder.path("d");
  const Datasets datasets = open_datasets(spec, "", options);
  EXPECT_EQ(datasets.train->size(), 20);
  EXPECT_EQ(datasets.warnings.size(), 4u) << "each bad file once";
  EXPECT_TRUE(any_mentions(datasets.warnings, {"zero.jpg", "empty file"}));
  EXPECT_TRUE(any_mentions(datasets.warnings, {"header.jpg", "cut short"}));
  EXPECT_TRUE(any_mentions(datasets.warnings, {"flipped.png", "damaged IDAT"}));
  EXPECT_TRUE(any_mentions(datasets.warnings, {"thin.png", "1x2000", "limit"}));
  Pipeline pipeline(*datasets.train, {.batch_size = 6, .workers = 8});
  pipeline.start(0, 0, 3);
  std::map<int64_t, int64_t> seen;
  while (const Batch* batch = pipeline.next()) {
    seen[batch->epoch] += batch->size;
    pipeline.release(batch);
  }
  EXPECT_EQ(seen, (std::map<int64_t, int64_t>{{0, 20}, {1, 20}, {2, 20}}));
  options.stage.strict = true;
  const Error error = error_of([&] { open_datasets(spec, "", options); });
  EXPECT_EQ(error.code(), ExitCode::data);
  EXPECT_TRUE(mentions(error.what(), {"the training set", "4 of 24", "header.jpg"}));
}

TEST(Open, MixedPicturesMakeOneBatch) {
  const TempFolder folder;
  folder.write("d/a/gray.png", raw_png(1, 1, 8, 0, {0, 100}));
  folder.write("d/a/gray_alpha.png", raw_png(1, 1, 8, 4, {0, 100, 255}));
  folder.write("d/a/palette.png", raw_png(1, 1, 8, 3, {0, 0}, false, {{"PLTE", {100, 100, 100}}}));
  folder.write("d/a/rgb.bmp", bmp(flat(3, 5, 100, 100, 100)));
  folder.write("d/a/rgba.png", raw_png(1, 1, 8, 6, {0, 100, 100, 100, 255}));
  folder.write("d/a/deep.png", raw_png(1, 1, 16, 0, {0, 100, 0}));
  folder.write("d/a/photo.JPG", jpeg(flat(50, 90, 100, 100, 100)));
  const Datasets datasets = open_datasets("folder:" + folder.path("d"), "", {.val_split = 0});
  ASSERT_EQ(datasets.train->size(), 7);
  Pipeline pipeline(*datasets.train, {.batch_size = 7});
  pipeline.start();
  const Batch* batch = pipeline.next();
  for (int64_t i = 0; i < 7 * 32 * 32 * 3; ++i) ASSERT_NEAR(batch->images[i], 100, 1);
}

TEST(Open, FruitIsNamedAsSyntheticAndHasTheNetworksSize) {
  const Datasets datasets = open_datasets("fruit:train=12,val=6", "", {.stage = {.image_size = 48}});
  EXPECT_TRUE(mentions(datasets.description, {"synthetic"}));
  EXPECT_EQ(datasets.train->size(), 12);
  EXPECT_EQ(datasets.validation->size(), 6);
  EXPECT_EQ(datasets.train->height(), 48);
  EXPECT_EQ(open_datasets("fruit:train=6,val=6,size=64", "", {}).train->height(), 32) << "reduced";
  EXPECT_EQ(error_of([] { open_datasets("fruit:train=0", "", {}); }).code(), ExitCode::usage);
}

TEST(Open, BothSplitsHaveOneSize) {
  const TempFolder folder;
  for (const char* name : {"freshapples", "rottenoranges"}) {
    folder.write(std::string("d/") + name + "/a.jpg", jpeg(gradient(100, 80)));
  }
  const Datasets datasets =
      open_datasets("fruit:train=6,size=24", "folder:" + folder.path("d"), {.stage = {.image_size = 32}});
  EXPECT_EQ(datasets.train->height(), 24);
  EXPECT_EQ(datasets.validation->height(), 24);
  EXPECT_EQ(datasets.validation->class_counts(), (std::vector<int64_t>{1, 0, 0, 0, 0, 1}));
}

}  // namespace
}  // namespace lathe
