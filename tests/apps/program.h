// Tests that run the lathe program itself, in an empty folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstdio>
#include <filesystem>
#include <string>

namespace lathe {

namespace fs = std::filesystem;

struct Result {
  int code;
  std::string output;
};

// A shell command in an empty folder; $LATHE is the program beside this test.
class ProgramTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("lathe_program_" + std::to_string(getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  Result shell(const std::string& command) const {
    std::string program = (fs::canonical("/proc/self/exe").parent_path() / "lathe").string();
    std::string line = "cd '" + folder_.string() + "' && LATHE='" + program + "' && exec 2>&1 && " + command;
    FILE* pipe = popen(("bash -c \"$(cat <<'END'\n" + line + "\nEND\n)\"").c_str(), "r");
    Result result{-1, ""};
    std::array<char, 4096> buffer;
    while (size_t count = std::fread(buffer.data(), 1, buffer.size(), pipe))
      result.output.append(buffer.data(), count);
    int status = pclose(pipe);
    result.code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    return result;
  }

  fs::path folder_;
};

}  // namespace lathe
