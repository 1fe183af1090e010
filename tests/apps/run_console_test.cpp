// What a user sees: plain lines in files, a redrawn bar on terminals, and no output error that costs a run.
#include "apps/run/console.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <pty.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <thread>
#include <vector>

#include "apps/run/progress.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {
namespace fs = std::filesystem;

// A pipe, or a terminal, whose other end is read at the end.
class Sink {
 public:
  explicit Sink(bool terminal, unsigned short columns = 200) {
    if (terminal) {
      winsize size{24, columns, 0, 0};
      EXPECT_EQ(openpty(&read_, &write_, nullptr, nullptr, &size), 0);
    } else {
      int ends[2];
      EXPECT_EQ(pipe(ends), 0);
      read_ = ends[0], write_ = ends[1];
    }
    fcntl(read_, F_SETFL, O_NONBLOCK);
  }
  ~Sink() {
    close_reader();
    close(write_);
  }
  int fd() const { return write_; }
  void close_reader() {
    if (read_ >= 0) close(read_);
    read_ = -1;
  }
  std::string text() const {
    std::string all;
    char buffer[4096];
    for (ssize_t n = 0; (n = read(read_, buffer, sizeof buffer)) > 0;) all.append(buffer, n);
    return all;
  }

 private:
  int read_ = -1, write_ = -1;
};

class ConsoleTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "lathe_console_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
    signal(SIGPIPE, SIG_IGN);
    setenv("TERM", "xterm", 1);
    unsetenv("NO_COLOR");
  }
  void TearDown() override {
    unsetenv("NO_COLOR");
    fs::remove_all(folder_);
  }
  std::string log() const {
    std::ostringstream out;
    out << std::ifstream(folder_ / "train.log").rdbuf();
    return out.str();
  }
  fs::path folder_;
};

size_t count(const std::string& text, char c) {
  return static_cast<size_t>(std::count(text.begin(), text.end(), c));
}

// Steps of 10 ms on a clock of our own.
void run_steps(Console& console, int64_t every, int64_t steps) {
  int64_t now_ms = 0;
  Progress progress(console, every,
                    [&] { return std::chrono::steady_clock::time_point(std::chrono::milliseconds(now_ms)); });
  for (int64_t step = 1; step <= steps; ++step, now_ms += 10) {
    progress.step({.epoch = 1,
                   .epochs = 2,
                   .step = step,
                   .steps = steps,
                   .loss = 1.213,
                   .accuracy = 0.733,
                   .img_s = 4810,
                   .data_wait_share = 0.06,
                   .memory_bytes = 2.1 * (1 << 30),
                   .seconds_left = 64});
  }
}

TEST_F(ConsoleTest, ResultsAndProgressGoTheirOwnWays) {
  const Sink out(false), err(false);
  Console console(out.fd(), err.fd());
  console.log_to(folder_ / "train.log");
  console.result("top1 96.4%");
  console.note("memory planned");
  console.warning("one file skipped");
  console.error("stopped");
  EXPECT_EQ(out.text(), "top1 96.4%\n");
  EXPECT_EQ(err.text(), "memory planned\nwarning: one file skipped\nlathe: stopped\n");
  EXPECT_EQ(log(), "top1 96.4%\nmemory planned\nwarning: one file skipped\nlathe: stopped\n");
  EXPECT_NO_THROW(console.finish());
}

TEST_F(ConsoleTest, AFileGetsOnePlainLineEveryNSteps) {
  const Sink out(false), err(false);
  Console console(out.fd(), err.fd());
  console.log_to(folder_ / "train.log");
  run_steps(console, 40, 100);
  const std::string text = err.text();
  EXPECT_EQ(count(text, '\n'), 3U);  // 40, 80 and the last
  EXPECT_EQ(text.find_first_of("\r\x1b"), std::string::npos);
  EXPECT_TRUE(text.starts_with(
      "epoch 1/2  step 40/100  loss 1.2130  top1 73.3%  4810 img/s  wait 6%  mem 2.1 GiB  left 1:04\n"))
      << text;
  EXPECT_EQ(log(), text);
  EXPECT_EQ(out.text(), "");
}

TEST_F(ConsoleTest, ATerminalGetsABarAtMostTenTimesASecond) {
  const Sink out(false), err(true);
  Console console(out.fd(), err.fd());
  console.log_to(folder_ / "train.log");
  ASSERT_TRUE(console.interactive());
  run_steps(console, 40, 100);  // one second
  const std::string text = err.text();
  EXPECT_EQ(count(text, '\r'), 11U);  // ten, and the last step
  EXPECT_EQ(count(text, '\n'), 0U);
  EXPECT_NE(text.find("[################] epoch 1/2"), std::string::npos);
  EXPECT_EQ(count(log(), '\n'), 3U);
  EXPECT_EQ(log().find_first_of("\r\x1b"), std::string::npos);
  console.note("epoch done");
  EXPECT_NE(err.text().find("\repoch done\r\n"), std::string::npos);  // on a cleared line
}

TEST_F(ConsoleTest, ANarrowTerminalIsNotWrapped) {
  const Sink out(false), err(true, 20);
  Console console(out.fd(), err.fd());
  console.status("größe größe größe größe");
  EXPECT_EQ(text_width(err.text()), 1 + 19U);
  console.status("ab");
  EXPECT_EQ(err.text(), "\rab" + std::string(17, ' '));
}

TEST_F(ConsoleTest, ColourOnlyWhereItIsWelcome) {
  const auto warned = [] {
    const Sink out(false), err(true);
    Console console(out.fd(), err.fd());
    console.warning("x");
    return err.text();
  };
  EXPECT_EQ(warned(), "\x1b[33mwarning: \x1b[0mx\r\n");
  setenv("NO_COLOR", "1", 1);
  EXPECT_EQ(warned(), "warning: x\r\n");
  setenv("TERM", "dumb", 1);
  const Sink out(false), err(true);
  Console console(out.fd(), err.fd());
  EXPECT_FALSE(console.interactive());
}

TEST_F(ConsoleTest, LinesOfManyThreadsStayWhole) {
  const Sink out(false), err(false);
  Console console(out.fd(), err.fd());
  console.log_to(folder_ / "train.log");
  std::vector<std::thread> threads;
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&console] {
      for (int i = 0; i < 50; ++i) console.warning("file skipped");
    });
  }
  for (std::thread& thread : threads) thread.join();
  std::string expected;
  for (int i = 0; i < 400; ++i) expected += "warning: file skipped\n";
  EXPECT_EQ(err.text(), expected);
  EXPECT_EQ(log(), expected);
}

TEST_F(ConsoleTest, NamesCannotSteerTheTerminal) {
  const Sink out(false), err(false);
  Console console(out.fd(), err.fd());
  console.note("class \x1b[2J\r\x07");
  EXPECT_EQ(err.text(), "class \\x1b[2J\\x0d\\x07\n");
}

TEST_F(ConsoleTest, AClosedPipeIsNoFailureAndOthersAreKeptForTheEnd) {
  Sink out(false);
  const Sink err(false);
  Console console(out.fd(), err.fd());
  console.log_to(folder_ / "train.log");
  out.close_reader();
  console.result("one");
  console.result("two");
  EXPECT_NO_THROW(console.finish());
  EXPECT_EQ(log(), "one\ntwo\n");

  const int full = open("/dev/full", O_WRONLY);
  Console failing(full, err.fd());
  failing.result("lost");
  try {
    failing.finish();
    ADD_FAILURE() << "a lost result was not reported";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ExitCode::failure);
    EXPECT_STREQ(error.what(), "stdout: cannot write: No space left on device");
  }
  close(full);
}

TEST_F(ConsoleTest, AFullDiskForTheLogIsSaidAndTheRunGoesOn) {
  const Sink out(false), err(false);
  Console console(out.fd(), err.fd());
  console.log_to("/dev/full");
  console.note("a");
  console.note("b");
  const std::string text = err.text();
  EXPECT_NE(text.find("warning: /dev/full"), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("a\nb\n")) << text;
  EXPECT_THROW(console.finish(), Error);
}

TEST(PrepareStreams, AClosedStdoutIsNotTakenByAFile) {
  const pid_t child = fork();
  if (child == 0) {
    close(1);
    signal(SIGPIPE, SIG_DFL);
    prepare_streams();
    const int file = open("/dev/null", O_RDONLY);
    int ends[2];
    if (pipe(ends) != 0) _exit(3);
    close(ends[0]);
    const bool survived = write(ends[1], "x", 1) < 0;  // SIGPIPE would end us here
    _exit(file > 2 && survived ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

TEST(Table, ColumnsAlignAndNumbersGoRight) {
  EXPECT_EQ(format_table({{"config", "step ms", "note"}, {"größe", "41.20", ""}, {"+amp", "-", "a\nb"}}),
            "config  step ms  note\n"
            "größe     41.20\n"
            "+amp          -  a\\x0ab\n");
  EXPECT_EQ(format_table({}), "");
}

TEST(Format, BytesAndDurations) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1024), "1.0 KiB");
  EXPECT_EQ(format_bytes(1024.0 * 1024 - 1), "1.0 MiB");
  EXPECT_EQ(format_bytes(2.1 * (1 << 30)), "2.1 GiB");
  EXPECT_EQ(format_duration(4), "0:04");
  EXPECT_EQ(format_duration(3723.4), "1:02:03");
  EXPECT_EQ(format_duration(std::nan("")), "-:--");
  EXPECT_EQ(format_duration(1e300), "-:--");
  EXPECT_EQ(progress_line({.step = 1,
                           .steps = 5,
                           .accuracy = std::nan(""),
                           .img_s = 2.5,
                           .data_wait_share = std::nan(""),
                           .seconds_left = std::nan("")}),
            "step 1/5  loss 0.0000  2.5 img/s  left -:--");
}

}  // namespace
}  // namespace lathe
