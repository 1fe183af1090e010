// Saving must never cost the last good file: full disks, kills, missing folders, two writers.
#include "engine/runtime/atomic_file.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <random>
#include <sstream>

#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace {
namespace fs = std::filesystem;

class AtomicFileTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe_atomic_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  static std::string read(const fs::path& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  }
  size_t files() const { return std::distance(fs::directory_iterator(folder_), fs::directory_iterator()); }

  // Runs `body` in a child; its exit status, or 128 + the signal that ended it.
  static int in_child(const std::function<int()>& body) {
    const pid_t child = fork();
    if (child == 0) _exit(body());
    int status = 0;
    waitpid(child, &status, 0);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  }

  fs::path folder_;
};

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
    return error.what();
  }
  return "";
}

TEST_F(AtomicFileTest, ReplacesTheFileAndLeavesNothingElse) {
  write_file_atomically(folder_ / "a", "one");
  write_file_atomically(folder_ / "a", "two");
  EXPECT_EQ(read(folder_ / "a"), "two");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, WithoutCommitThePreviousFileStays) {
  write_file_atomically(folder_ / "a", "one");
  {
    AtomicFile file(folder_ / "a");
    file.write("half of tw");
    EXPECT_EQ(read(folder_ / "a"), "one");
  }
  EXPECT_EQ(read(folder_ / "a"), "one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, AFullDiskKeepsThePreviousFile) {
  write_file_atomically(folder_ / "a", "one");
  const int status = in_child([&] {
    signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{64 * 1024, 64 * 1024};
    setrlimit(RLIMIT_FSIZE, &limit);
    const std::string message =
        message_of([&] { write_file_atomically(folder_ / "a", std::string(1 << 20, 'x')); });
    return message.find((folder_ / "a").string()) != std::string::npos &&
                   message.find("File too large") != std::string::npos
               ? 0
               : 1;
  });
  EXPECT_EQ(status, 0);
  EXPECT_EQ(read(folder_ / "a"), "one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, DevicesAreNotReplaced) {
  EXPECT_NE(message_of([] { write_file_atomically("/dev/full", "x"); }).find("/dev/full"), std::string::npos);
  EXPECT_TRUE(fs::is_character_file("/dev/full"));
  EXPECT_NE(message_of([&] { write_file_atomically(folder_, "x"); }), "");
}

TEST_F(AtomicFileTest, MissingAndReadOnlyFoldersAreNamed) {
  const std::string missing = message_of([&] { write_file_atomically(folder_ / "none" / "a", "x"); });
  EXPECT_NE(missing.find("none/a"), std::string::npos) << missing;
  EXPECT_NE(missing.find("No such file"), std::string::npos) << missing;

  write_file_atomically(folder_ / "a", "one");
  chmod(folder_.c_str(), 0555);
  if (access(folder_.c_str(), W_OK) == 0) {  // root writes anywhere: /proc refuses even it
    EXPECT_NE(message_of([] { write_file_atomically("/proc/lathe_test", "x"); }).find("/proc/lathe_test"),
              std::string::npos);
  } else {
    EXPECT_NE(message_of([&] { write_file_atomically(folder_ / "a", "x"); }).find("ermission"),
              std::string::npos);
  }
  chmod(folder_.c_str(), 0755);
  EXPECT_EQ(read(folder_ / "a"), "one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, AKilledWriterLeavesAWholeFile) {
  const fs::path path = folder_ / "a";
  const auto content = [](char c) { return std::string(200'000, c); };
  write_file_atomically(path, content('a'));
  std::mt19937 random(1);
  for (int round = 0; round < 25; ++round) {
    const pid_t child = fork();
    if (child == 0) {
      for (char c = 'b';; c = c == 'z' ? 'a' : static_cast<char>(c + 1))
        write_file_atomically(path, content(c));
    }
    usleep(random() % 8000);
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    const std::string left = read(path);
    ASSERT_EQ(left, content(left.at(0))) << "round " << round;
    ASSERT_LE(files(), 2U);  // one temporary file at most, reused by the next save
  }
  write_file_atomically(path, content('!'));
  EXPECT_EQ(read(path), content('!'));
  EXPECT_EQ(files(), 1U);
}

TEST_F(AtomicFileTest, ASecondWriterIsRefused) {
  AtomicFile first(folder_ / "a");
  EXPECT_NE(message_of([&] { AtomicFile second(folder_ / "a"); }).find("another process"), std::string::npos);
  first.write("one");
  first.commit();
  EXPECT_EQ(read(folder_ / "a"), "one");
}

TEST_F(AtomicFileTest, WhatTookTheTemporaryNameIsNotTakenForTheFile) {
  AtomicFile file(folder_ / "a");
  file.write("mine");
  write_file_atomically(folder_ / "b", "not mine");
  fs::rename(folder_ / "b", folder_ / "a.tmp");
  EXPECT_NE(message_of([&] { file.commit(); }).find("written over"), std::string::npos);
  EXPECT_FALSE(fs::exists(folder_ / "a"));
  EXPECT_EQ(read(folder_ / "a.tmp"), "not mine");
}

TEST_F(AtomicFileTest, KeepsPermissionsAndFollowsLinks) {
  write_file_atomically(folder_ / "a", "one");
  chmod((folder_ / "a").c_str(), 0640);
  fs::create_symlink("a", folder_ / "link");
  write_file_atomically(folder_ / "link", "two");
  EXPECT_TRUE(fs::is_symlink(folder_ / "link"));
  EXPECT_EQ(read(folder_ / "a"), "two");
  EXPECT_EQ(fs::status(folder_ / "a").permissions(), fs::perms(0640));
  fs::create_symlink("link2", folder_ / "link1");
  fs::create_symlink("to_come", folder_ / "link2");
  write_file_atomically(folder_ / "link1", "three");
  EXPECT_EQ(read(folder_ / "to_come"), "three");
}

TEST(Printable, OneLineWhateverTheText) {
  EXPECT_EQ(printable("a\n\x1b[31mb\x7f"), "a\\x0a\\x1b[31mb\\x7f");
  EXPECT_EQ(printable("größe", 3), "gr…");  // never half a character: ö is two bytes
  EXPECT_EQ(printable(""), "");
}

}  // namespace
}  // namespace lathe
