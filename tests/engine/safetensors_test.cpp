// The safetensors format: what Python's package wrote, what must be refused, and what comes back.
#include "engine/runtime/safetensors.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <sstream>

#include "engine/runtime/error.h"

namespace lathe {
namespace {
namespace fs = std::filesystem;

// Made by golden/make_safetensors.py with safetensors 0.8.0.
constexpr unsigned char kGolden[] = {
    160, 1,   0,   0,   0,   0,   0,   0,   123, 34,  95,  95,  109, 101, 116, 97,  100, 97,  116, 97,  95,
    95,  34,  58,  123, 34,  99,  108, 97,  115, 115, 101, 115, 34,  58,  34,  97,  112, 112, 108, 101, 92,
    110, 98,  97,  110, 97,  110, 97,  34,  125, 44,  34,  115, 116, 101, 112, 34,  58,  123, 34,  100, 116,
    121, 112, 101, 34,  58,  34,  73,  54,  52,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,  93,
    44,  34,  100, 97,  116, 97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,  48,  44,  56,  93,
    125, 44,  34,  101, 109, 112, 116, 121, 34,  58,  123, 34,  100, 116, 121, 112, 101, 34,  58,  34,  70,
    51,  50,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,  48,  44,  51,  93,  44,  34,  100, 97,
    116, 97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,  56,  44,  56,  93,  125, 44,  34,  102,
    101, 97,  116, 117, 114, 101, 115, 46,  48,  46,  119, 101, 105, 103, 104, 116, 34,  58,  123, 34,  100,
    116, 121, 112, 101, 34,  58,  34,  70,  51,  50,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,
    50,  44,  50,  93,  44,  34,  100, 97,  116, 97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,
    56,  44,  50,  52,  93,  125, 44,  34,  104, 97,  108, 102, 34,  58,  123, 34,  100, 116, 121, 112, 101,
    34,  58,  34,  70,  49,  54,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,  51,  93,  44,  34,
    100, 97,  116, 97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,  50,  52,  44,  51,  48,  93,
    125, 44,  34,  195, 188, 110, 195, 175, 92,  34,  99,  111, 100, 101, 34,  58,  123, 34,  100, 116, 121,
    112, 101, 34,  58,  34,  85,  56,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,  50,  93,  44,
    34,  100, 97,  116, 97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,  51,  48,  44,  51,  50,
    93,  125, 44,  34,  109, 97,  115, 107, 34,  58,  123, 34,  100, 116, 121, 112, 101, 34,  58,  34,  66,
    79,  79,  76,  34,  44,  34,  115, 104, 97,  112, 101, 34,  58,  91,  51,  93,  44,  34,  100, 97,  116,
    97,  95,  111, 102, 102, 115, 101, 116, 115, 34,  58,  91,  51,  50,  44,  51,  53,  93,  125, 125, 32,
    32,  32,  32,  32,  7,   0,   0,   0,   0,   0,   0,   0,   0,   0,   128, 63,  0,   0,   32,  192, 205,
    204, 204, 61,  0,   0,   64,  64,  0,   62,  0,   180, 255, 123, 200, 10,  1,   0,   1,
};

class Safetensors : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe_safetensors_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    path_ = folder_ / "f.safetensors";
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(std::string_view bytes) const { std::ofstream(path_, std::ios::binary) << bytes; }
  void write(uint64_t length, std::string_view header, std::string_view data) const {
    std::string bytes(sizeof length, '\0');
    std::memcpy(bytes.data(), &length, sizeof length);
    write(bytes.append(header).append(data));
  }
  SafetensorsFile open(std::string_view header, std::string_view data) const {
    write(header.size(), header, data);
    return SafetensorsFile::open(path_);
  }
  std::string refusal(ExitCode code = ExitCode::data) const {
    try {
      SafetensorsFile::open(path_);
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), code);
      EXPECT_EQ(std::string_view(error.what()).find_first_of("\n\r\x1b"), std::string::npos) << error.what();
      EXPECT_NE(std::string_view(error.what()).find("f.safetensors"), std::string::npos) << error.what();
      return error.what();
    }
    return "accepted";
  }
  std::string refusal(std::string_view header, std::string_view data) const {
    write(header.size(), header, data);
    return refusal();
  }

  fs::path folder_, path_;
};

template <typename T>
TensorView view(const std::string& name, const std::string& dtype, std::vector<int64_t> shape,
                const std::vector<T>& values) {
  return {name, dtype, std::move(shape), std::as_bytes(std::span(values))};
}

std::string file_text(const fs::path& path) {
  std::ostringstream text;
  text << std::ifstream(path, std::ios::binary).rdbuf();
  return text.str();
}

TEST_F(Safetensors, ReadsWhatPythonWrote) {
  write(std::string_view(reinterpret_cast<const char*>(kGolden), sizeof kGolden));
  const SafetensorsFile file = SafetensorsFile::open(path_);
  EXPECT_EQ(file.tensors().size(), 6U);
  EXPECT_EQ(file.metadata().at("classes"), "apple\nbanana");
  EXPECT_EQ(file.tensor("features.0.weight").shape, (std::vector<int64_t>{2, 2}));
  EXPECT_EQ(to_floats(file.tensor("features.0.weight")), (std::vector<float>{1.0F, -2.5F, 0.1F, 3.0F}));
  EXPECT_EQ(to_floats(file.tensor("half")), (std::vector<float>{1.5F, -0.25F, 65504.0F}));
  EXPECT_EQ(file.tensor("step").shape.size(), 0U);
  EXPECT_EQ(file.tensor("empty").bytes.size(), 0U);
  EXPECT_EQ(file.tensor("ünï\"code").bytes[0], std::byte{200});
  EXPECT_THROW(file.tensor("features.1.weight"), Error);
  EXPECT_THROW(to_floats(file.tensor("step")), Error);
}

TEST_F(Safetensors, WritesTheSameBytesAsPython) {
  const std::vector<float> weight{1.0F, -2.5F, 0.1F, 3.0F}, none;
  const std::vector<int64_t> step{7};
  const std::vector<uint16_t> half{0x3E00, 0xB400, 0x7BFF};
  const std::vector<uint8_t> mask{1, 0, 1}, code{200, 10};
  write_safetensors(path_,
                    {view("mask", "BOOL", {3}, mask), view("ünï\"code", "U8", {2}, code),
                     view("features.0.weight", "F32", {2, 2}, weight), view("half", "F16", {3}, half),
                     view("empty", "F32", {0, 3}, none), view("step", "I64", {}, step)},
                    {{"classes", "apple\nbanana"}});
  EXPECT_EQ(file_text(path_), std::string(reinterpret_cast<const char*>(kGolden), sizeof kGolden));
}

TEST_F(Safetensors, OddAlignedDataIsReadRight) {
  using namespace std::string_view_literals;
  const SafetensorsFile f32 =
      open(R"({"ab":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "\0\0\x80\x3f\0\0\x20\xc0"sv);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(f32.tensor("ab").bytes.data()) % 2, 1U);
  EXPECT_EQ(to_floats(f32.tensor("ab")), (std::vector<float>{1.0F, -2.5F}));
  fs::remove(path_);  // the first mapping stays valid while a second file is opened
  const SafetensorsFile bf16 =
      open(R"({"abc":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}})", "\x80\x3f\x20\xc0"sv);
  EXPECT_EQ(to_floats(bf16.tensor("abc")), (std::vector<float>{1.0F, -2.5F}));
  EXPECT_EQ(to_floats(f32.tensor("ab")), (std::vector<float>{1.0F, -2.5F}));
}

TEST_F(Safetensors, AcceptsWhatIsUnusualButValid) {
  EXPECT_TRUE(open("{}", "").tensors().empty());
  EXPECT_EQ(open(R"({"s":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}      )", "abcd").tensors().size(),
            1U);
  EXPECT_EQ(
      open(
          R"({"z":{"dtype":"F32","shape":[0,5],"data_offsets":[4,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
          "abcd")
          .tensors()
          .size(),
      2U);
  const std::string escaped =
      R"({"__metadata__":{"k\n":"\u00e9\t"},"\u00fc\"":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})";
  EXPECT_EQ(open(escaped, "x").metadata().at("k\n"), "é\t");
  EXPECT_EQ(open(escaped, "x").tensors().count("ü\""), 1U);
  EXPECT_EQ(open(R"({"a":{"dtype":"U8","shape":[0,4294967296,4294967296],"data_offsets":[0,0]}})", "")
                .tensors()
                .size(),
            1U);
}

TEST_F(Safetensors, RefusesHostileLengths) {
  write("");
  EXPECT_NE(refusal().find("shorter than 8"), std::string::npos);
  write("1234567");
  EXPECT_NE(refusal().find("shorter than 8"), std::string::npos);
  for (const uint64_t length : {uint64_t{0}, uint64_t{3}, uint64_t{1000}, uint64_t{99'999'999},
                                uint64_t{1} << 32, uint64_t{1} << 63, ~uint64_t{0}, ~uint64_t{0} - 7}) {
    write(length, "{}", "");
    EXPECT_NE(refusal(), "accepted") << length;
  }
}

TEST_F(Safetensors, RefusesMalformedHeaders) {
  const std::string data(8, 'x');
  const auto entry = [](const std::string& dtype, const std::string& shape, const std::string& offsets) {
    return R"({"a":{"dtype":)" + dtype + R"(,"shape":)" + shape + R"(,"data_offsets":)" + offsets + "}}";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"not json", "'{'"},
      {" {}", "'{'"},
      {"[]", "'{'"},
      {"{\"a\":", "JSON"},
      {"{}{}", "JSON"},
      {std::string("{}\0", 3), "zero byte"},
      {"{\"\xff\xfe\":1}", "JSON"},
      {R"({"a":1e999})", "JSON"},
      {"{\"a\n\":1}", "JSON"},
      {R"({"a":1})", "needs dtype"},
      {R"({"a\u001b[2J\n":[]})", "needs dtype"},
      {R"({"a":{"dtype":"F32","shape":[2]}})", "needs dtype"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8],"more":0}})", "no more"},
      {entry("7", "[2]", "[0,8]"), "dtype"},
      {entry("\"F33\"", "[2]", "[0,8]"), "unknown dtype"},
      {entry("\"\"", "[2]", "[0,8]"), "unknown dtype"},
      {entry("\"F32\"", "2", "[0,8]"), "shape"},
      {entry("\"F32\"", "[-2]", "[0,8]"), "shape"},
      {entry("\"F32\"", "[2.0]", "[0,8]"), "shape"},
      {entry("\"F32\"", "[\"2\"]", "[0,8]"), "shape"},
      {entry("\"F32\"", "[18446744073709551616]", "[0,8]"), "shape"},
      {entry("\"F32\"", "[9223372036854775808]", "[0,8]"), "shape"},
      {entry("\"U8\"", "[4294967296,4294967296]", "[0,8]"), "too large"},
      {entry("\"F64\"", "[2305843009213693952]", "[0,8]"), "too large"},
      {entry("\"F32\"", "[2]", "[8,4]"), "outside"},
      {entry("\"F32\"", "[2]", "[-1,4]"), "data_offsets"},
      {entry("\"F32\"", "[2]", "[0]"), "pair"},
      {entry("\"F32\"", "[2]", "[0,8,8]"), "pair"},
      {entry("\"F32\"", "[1000,1000]", "[0,4]"), "needs 4000000 bytes"},
      {entry("\"F32\"", "[3]", "[0,12]"), "outside"},
      {entry("\"F32\"", "[2]", "[0,9223372036854775807]"), "outside"},
      {entry("\"F32\"", "[1]", "[0,4]"), "cover 4 of 8"},
      {entry("\"F32\"", "[1]", "[4,8]"), "hole"},
      {"{}", "cover 0 of 8"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "overlap"},
      {R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},"a":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
       "repeated key"},
      {R"({"a":{"dtype":"U8","dtype":"F32","shape":[2],"data_offsets":[0,8]}})", "repeated key"},
      {R"({"__metadata__":{"a":"1","a":"2"}})", "repeated key"},
      {R"({"__metadata__":[]})", "__metadata__"},
      {R"({"__metadata__":{"a":1}})", "__metadata__"},
      {"{\"a\":" + std::string(100'000, '['), "nested"},
      {entry("\"F32\"", "[" + std::string(200, '1') + "]", "[0,8]"), "shape"},
      {R"({"a":{"dtype":"F32","shape":[1)" + std::string(2000, ' ') + std::string(",1", 2) + "]}}",
       "needs dtype"},
  };
  for (const auto& [header, reason] : cases) {
    EXPECT_NE(refusal(header, data).find(reason), std::string::npos) << header.substr(0, 100) << "\n"
                                                                     << refusal();
  }
  std::string many = "1";
  for (int i = 0; i < 100; ++i) many += ",1";
  EXPECT_NE(refusal(entry("\"F32\"", "[" + many + "]", "[0,8]"), data).find("too long"), std::string::npos);
}

TEST_F(Safetensors, RefusesEveryCutAndEveryFlippedLengthByte) {
  const std::string whole(reinterpret_cast<const char*>(kGolden), sizeof kGolden);
  for (size_t size = 0; size < whole.size(); ++size) {
    write(std::string_view(whole).substr(0, size));
    EXPECT_NE(refusal(), "accepted") << size;
  }
  for (size_t at = 0; at < whole.size() - 35; ++at) {  // a flipped header bit: refused or read, never a crash
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write(damaged);
    refusal();
  }
}

TEST_F(Safetensors, WhatIsNoFileIsRefused) {
  EXPECT_NE(refusal(ExitCode::failure).find("No such file"), std::string::npos);
  fs::create_directory(path_);
  EXPECT_NE(refusal(ExitCode::failure).find("not a regular file"), std::string::npos);
  fs::remove(path_);
  ASSERT_EQ(mkfifo(path_.c_str(), 0600), 0);
  EXPECT_NE(refusal(ExitCode::failure).find("not a regular file"), std::string::npos);
}

TEST_F(Safetensors, TheWriterRefusesWhatAReaderWould) {
  const std::vector<float> two{1, 2};
  const auto refused = [&](const std::vector<TensorView>& tensors,
                           const std::map<std::string, std::string>& metadata = {}) {
    EXPECT_THROW(write_safetensors(path_, tensors, metadata), Error);
    EXPECT_FALSE(fs::exists(path_));
  };
  refused({view("a", "F32", {3}, two)});
  refused({view("a", "F32", {-2}, two)});
  refused({view("a", "Q4", {2}, two)});
  refused({view("__metadata__", "F32", {2}, two)});
  refused({view("a", "F32", {2}, two), view("a", "F32", {2}, two)});
  refused({view("\xff", "F32", {2}, two)});
  refused({}, {{"k", "\xc3"}});
}

TEST_F(Safetensors, TheOrderGivenDoesNotMatterAndDataIsAligned) {
  const std::vector<float> a{1}, b{2, 3};
  const std::vector<uint8_t> odd{9};
  write_safetensors(path_, {view("b", "F32", {2}, b), view("odd", "U8", {1}, odd), view("a", "F32", {1}, a)});
  const std::string first = file_text(path_);
  write_safetensors(path_, {view("odd", "U8", {1}, odd), view("a", "F32", {1}, a), view("b", "F32", {2}, b)});
  EXPECT_EQ(file_text(path_), first);
  uint64_t length = 0;
  std::memcpy(&length, first.data(), sizeof length);
  EXPECT_EQ(length % 8, 0U);
  EXPECT_EQ(first[8 + length - 1], ' ');
  const SafetensorsFile file = SafetensorsFile::open(path_);
  EXPECT_EQ(to_floats(file.tensor("b")), b);
  EXPECT_LT(file.tensor("a").bytes.data(), file.tensor("b").bytes.data());
}

}  // namespace
}  // namespace lathe
