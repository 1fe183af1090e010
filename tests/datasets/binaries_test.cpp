// CIFAR and IDX files in their real layouts, and what is wrong with files that are not.
#include "datasets/binaries.h"

#include <gtest/gtest.h>

#include "datasets/open.h"
#include "tests/datasets/fixtures.h"

namespace lathe {
namespace {

// Records of label bytes and three planes: pixel i of plane c of picture n is n + 10 * c + i % 7.
Bytes cifar_file(const std::vector<Bytes>& labels, int first) {
  Bytes bytes;
  for (size_t n = 0; n < labels.size(); ++n) {
    bytes.insert(bytes.end(), labels[n].begin(), labels[n].end());
    for (int i = 0; i < 3072; ++i) {
      bytes.push_back(static_cast<uint8_t>(first + static_cast<int>(n) + 10 * (i / 1024) + i % 1024 % 7));
    }
  }
  return bytes;
}

Bytes text(const std::string& words) { return {words.begin(), words.end()}; }

void write_cifar10(const TempFolder& folder, const std::string& under) {
  for (uint8_t batch = 1; batch <= 5; ++batch) {
    const Bytes file = cifar_file({{batch}, {9}}, 10 * batch);
    folder.write(under + "data_batch_" + std::to_string(batch) + ".bin", file);
  }
  folder.write(under + "test_batch.bin", cifar_file({{3}}, 200));
  folder.write(under + "batches.meta.txt",
               text("airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n"));
}

TEST(Cifar10, RealLayoutInEitherFolder) {
  for (const std::string under : {"", "cifar-10-batches-bin/"}) {
    const TempFolder folder;
    write_cifar10(folder, under);
    const auto train = cifar10_source(folder.path(), true), test = cifar10_source(folder.path(), false);
    ASSERT_EQ(train->size(), 10);
    EXPECT_EQ(train->classes()[9], "truck");
    EXPECT_EQ(train->label(4), 3) << "the files follow each other";
    EXPECT_EQ(train->label(5), 9);
    EXPECT_EQ(test->size(), 1);
    EXPECT_EQ(test->label(0), 3);
    const Picture picture = train->read(4);  // planes in the file, interleaved here
    EXPECT_EQ(std::vector<uint8_t>(picture.rgb.begin(), picture.rgb.begin() + 6),
              (std::vector<uint8_t>{30, 40, 50, 31, 41, 51}));
    EXPECT_EQ(picture.pixel(1, 0)[0], 30 + 32 % 7);
    const Datasets datasets = open_datasets("cifar10:" + folder.path(), "", {});
    EXPECT_EQ(datasets.train->size(), 10);
    EXPECT_EQ(datasets.validation->size(), 1);
  }
}

TEST(Cifar10, DamageIsNamed) {
  const TempFolder folder;
  write_cifar10(folder, "");
  const auto message = [&] {
    const Error error = error_of([&] { cifar10_source(folder.path(), true); });
    EXPECT_EQ(error.code(), ExitCode::data);
    return std::string(error.what());
  };
  Bytes file = cifar_file({{1}, {10}}, 0);
  folder.write("data_batch_2.bin", file);
  EXPECT_TRUE(mentions(message(), {"data_batch_2.bin", "picture 1", "label 10", "10 classes"}));
  file.pop_back();
  folder.write("data_batch_2.bin", file);
  EXPECT_TRUE(mentions(message(), {"data_batch_2.bin", "6145 bytes", "3073"}));
  folder.write("data_batch_2.bin", {});
  EXPECT_TRUE(mentions(message(), {"data_batch_2.bin", "0 bytes"}));
  std::remove(folder.path("data_batch_2.bin").c_str());
  EXPECT_TRUE(mentions(message(), {"data_batch_2.bin", "no such file"}));
  folder.write("batches.meta.txt", text("a\nb\nc\nd\ne\nf\ng\nh\ni\na\n"));
  EXPECT_TRUE(mentions(message(), {"'a' is there twice"}));
  folder.write("batches.meta.txt", text("a\nb\nc\nd\ne\nf\ng\nh\ni\n\xff\n"));
  EXPECT_TRUE(mentions(message(), {"no readable text"}));
  folder.write("batches.meta.txt", text("cat\ndog\n"));
  EXPECT_TRUE(mentions(message(), {"batches.meta.txt", "2 class names instead of 10"}));
}

TEST(Cifar100, FineLabelsAreUsed) {
  const TempFolder folder;
  std::string names;
  for (int i = 0; i < 100; ++i) names += "fine" + std::to_string(i) + "\r\n";
  folder.write("fine_label_names.txt", text(names));
  folder.write("train.bin", cifar_file({{19, 99}, {4, 0}}, 0));
  folder.write("test.bin", cifar_file({{1, 50}}, 0));
  const auto train = cifar100_source(folder.path(), true);
  EXPECT_EQ(train->label(0), 99);
  EXPECT_EQ(train->label(1), 0);
  EXPECT_EQ(train->classes()[99], "fine99");
  EXPECT_EQ(train->read(1).rgb[0], 1);
  EXPECT_EQ(cifar100_source(folder.path(), false)->label(0), 50);
  folder.write("test.bin", cifar_file({{1, 100}}, 0));
  EXPECT_TRUE(
      mentions(error_of([&] { cifar100_source(folder.path(), false); }).what(), {"test.bin", "label 100"}));
}

Bytes idx(uint8_t type, const std::vector<uint32_t>& extents, const Bytes& data) {
  Bytes bytes = {0, 0, type, static_cast<uint8_t>(extents.size())};
  for (const uint32_t extent : extents) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(extent >> shift));
  }
  bytes.insert(bytes.end(), data.begin(), data.end());
  return bytes;
}

TEST(Idx, GrayBecomesRgb) {
  const TempFolder folder;
  folder.write("train-images-idx3-ubyte", idx(8, {2, 2, 3}, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}));
  folder.write("train-labels-idx1-ubyte", idx(8, {2}, {7, 0}));
  folder.write("t10k-images.idx3-ubyte", idx(8, {1, 2, 3}, {1, 2, 3, 4, 5, 6}));  // the other spelling
  folder.write("t10k-labels.idx1-ubyte", idx(8, {1}, {3}));
  const auto train = idx_source(folder.path(), true);
  ASSERT_EQ(train->size(), 2);
  EXPECT_EQ(train->classes().size(), 10u);
  EXPECT_EQ(train->label(0), 7);
  const Picture picture = train->read(1);
  EXPECT_EQ(picture.height, 2);
  EXPECT_EQ(picture.width, 3);
  EXPECT_EQ(picture.pixel(1, 2)[0], 12);
  EXPECT_EQ(picture.pixel(1, 2)[2], 12);
  const Datasets datasets = open_datasets("idx:" + folder.path(), "", {});
  EXPECT_EQ(datasets.train->height(), 2);
  EXPECT_EQ(datasets.train->width(), 3);
  EXPECT_EQ(datasets.validation->label(0), 3);
}

TEST(Idx, DamageIsNamed) {
  const Bytes images = idx(8, {2, 1, 1}, {1, 2}), labels = idx(8, {2}, {0, 1});
  const struct {
    Bytes images, labels;
    std::vector<std::string> parts;
  } cases[] = {{idx(9, {2, 1, 1}, {1, 2}), labels, {"images", "not an IDX file"}},
               {idx(8, {2}, {1, 2}), labels, {"images", "not an IDX file"}},
               {{0, 0, 8}, labels, {"images", "not an IDX file"}},
               {idx(8, {3, 1, 1}, {1, 2}), labels, {"images", "size does not match"}},
               {idx(8, {0, 1, 1}, {}), labels, {"images", "size does not match"}},
               {idx(8, {0xffffffff, 0xffffffff, 0xffffffff}, {1}), labels, {"images", "size does not match"}},
               {idx(8, {2, 0, 1}, {}), labels, {"images", "size does not match"}},
               {images, idx(8, {1}, {1}), {"labels", "1 labels for 2 pictures"}},
               {images, idx(8, {2}, {1}), {"labels", "size does not match"}}};
  for (const auto& c : cases) {
    const TempFolder folder;
    folder.write("train-images-idx3-ubyte", c.images);
    folder.write("train-labels-idx1-ubyte", c.labels);
    const Error error = error_of([&] { idx_source(folder.path(), true); });
    EXPECT_EQ(error.code(), ExitCode::data);
    EXPECT_TRUE(mentions(error.what(), c.parts));
  }
  const TempFolder folder;
  EXPECT_TRUE(
      mentions(error_of([&] { idx_source(folder.path(), true); }).what(), {"train-images", "no such file"}));
  folder.write("train-images-idx3-ubyte.gz", {0x1f, 0x8b});
  EXPECT_TRUE(mentions(error_of([&] { idx_source(folder.path(), true); }).what(), {".gz", "gunzip"}));
}

TEST(Idx, AValidationLabelThatTrainingNeverHadIsRefused) {
  const TempFolder folder;
  folder.write("train-images-idx3-ubyte", idx(8, {1, 1, 1}, {1}));
  folder.write("train-labels-idx1-ubyte", idx(8, {1}, {9}));
  folder.write("t10k-images-idx3-ubyte", idx(8, {1, 1, 1}, {1}));
  folder.write("t10k-labels-idx1-ubyte", idx(8, {1}, {12}));
  EXPECT_EQ(error_of([&] { open_sources("idx:" + folder.path(), "", {}); }).code(), ExitCode::data);
}

}  // namespace
}  // namespace lathe
