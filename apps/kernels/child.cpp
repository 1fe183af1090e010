// See child.h.
#include "apps/kernels/child.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <new>

#include "apps/kernels/protocol.h"
#include "engine/runtime/error.h"
#include "engine/runtime/printable.h"

namespace lathe {
namespace {

using Lines = std::function<void(const std::string&)>;

[[noreturn]] void fail(const std::string& what) {
  throw Error(ExitCode::failure, what + ": " + std::strerror(errno));
}

// In the child: `work` with its streams, then the end of the process.
[[noreturn]] void become_child(pid_t parent, int events, int text, const std::function<int()>& work) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // nobody waits for it then
  if (::getppid() != parent) ::_exit(1);
  for (int* fd : {&events, &text}) *fd = ::fcntl(*fd, F_DUPFD_CLOEXEC, kEvents + 1);  // out of the way
  ::dup2(events, kEvents);
  ::dup2(text, STDOUT_FILENO);
  ::dup2(text, STDERR_FILENO);
  int code = 1;
  try {
    code = work();
  } catch (const std::bad_alloc&) {
    send("out_of_memory", {{"what", "a kernel's arrays"}});
  } catch (const std::exception& error) {
    const std::string line = std::string(error.what()) + "\n";
    if (::write(STDERR_FILENO, line.data(), line.size()) < 0) code = 2;
  }
  std::fflush(nullptr);  // what kernels printed
  ::_exit(code);         // no destructor of the parent's objects
}

class Child {
 public:
  explicit Child(const std::function<int()>& work) {
    std::array<int, 2> events, text;
    if (::pipe2(events.data(), O_CLOEXEC) != 0) fail("pipe");
    if (::pipe2(text.data(), O_CLOEXEC) != 0) fail("pipe");
    const pid_t parent = ::getpid();
    std::fflush(nullptr);  // else the child would print it once more
    pid_ = ::fork();
    if (pid_ == 0) become_child(parent, events[1], text[1], work);
    ::close(events[1]), ::close(text[1]);
    streams_ = {events[0], text[0]};
    if (pid_ < 0) fail("fork");
  }
  ~Child() {
    for (int fd : streams_) ::close(fd);
    if (pid_ <= 0) return;
    ::kill(pid_, SIGKILL);
    ::waitpid(pid_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Passes on its lines until it ends; returns how it ended, as waitpid says it.
  int read(const Lines& event, const Lines& text) {
    constexpr size_t kLongest = size_t{1} << 28;  // of a line: far more than any kernel's trace
    std::array<std::string, 2> pending;
    std::array<pollfd, 2> polled = {pollfd{streams_[0], POLLIN, 0}, pollfd{streams_[1], POLLIN, 0}};
    while (polled[0].fd >= 0 || polled[1].fd >= 0) {
      if (::poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) fail("poll");
      for (size_t i = 0; i < 2; ++i) {
        if (polled[i].fd < 0 || polled[i].revents == 0) continue;
        std::array<char, 1 << 16> buffer;
        const ssize_t count = ::read(polled[i].fd, buffer.data(), buffer.size());
        if (count < 0 && errno == EINTR) continue;
        if (count <= 0) polled[i].fd = -1;
        size_t start = 0, searched = pending[i].size();
        pending[i].append(buffer.data(), static_cast<size_t>(std::max<ssize_t>(count, 0)));
        if (count <= 0 && !pending[i].empty()) pending[i] += '\n';
        for (size_t end; (end = pending[i].find('\n', searched)) != std::string::npos; searched = start)
          (i == 0 ? event : text)(pending[i].substr(start, end - start)), start = end + 1;
        pending[i].erase(0, start);
        if (pending[i].size() > kLongest)
          throw Error(ExitCode::failure, "the child process writes a line without end");
      }
    }
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = 0;
    return status;
  }

 private:
  pid_t pid_ = 0;
  std::array<int, 2> streams_{-1, -1};
};

std::string how_it_ended(int status) {
  if (!WIFSIGNALED(status)) return fmt::format("the process ended with exit code {}", WEXITSTATUS(status));
  const char* name = ::sigabbrev_np(WTERMSIG(status));
  return fmt::format("the process was killed by SIG{} ({})", name ? name : "?",
                     ::strsignal(WTERMSIG(status)));
}

}  // namespace

void run_in_children(const std::vector<std::string>& jobs,
                     const std::function<int(std::span<const std::string> left)>& work, Console& console,
                     const ChildEvents& events) {
  size_t next = 0;
  while (next < jobs.size()) {
    const size_t first = next;
    bool begun = false;
    const auto line = [&](const std::string& text) {
      const auto object = nlohmann::json::parse(text, nullptr, false);
      if (next == jobs.size()) return;
      try {
        if (object.at("v") != kProtocol)
          throw Error(ExitCode::failure, "lathe_traced is of another version than lathe: make build");
        const auto event = object.at("event").get<std::string>();
        if (event == "out_of_memory")
          throw Error(ExitCode::device, fmt::format("{}: out of memory for {}; free some", jobs[next],
                                                    object.at("what").get<std::string>()));
        begun = begun || event == "begin";
        events.event(next, event, object);
        if (event == "end") begun = false, ++next;
      } catch (const nlohmann::json::exception& error) {
        throw Error(ExitCode::failure, fmt::format("{}: a line of the child process cannot be read: {}",
                                                   jobs[next], error.what()));
      }
    };
    Child child([&] { return work(std::span(jobs).subspan(first)); });
    const int status = child.read(line, [&](const std::string& text) { console.note(text); });
    if (begun)
      events.died(next++, how_it_ended(status));
    else if (next == first && first == 0)
      throw Error(ExitCode::failure,
                  fmt::format("{}: could not begin: {}", jobs[next], how_it_ended(status)));
    else if (next == first)  // what the others found is not to be lost
      events.died(next++, "could not begin: " + how_it_ended(status));
  }
}

std::function<int(std::span<const std::string>)> program_beside(const std::string& name) {
  const std::filesystem::path program = std::filesystem::canonical("/proc/self/exe").replace_filename(name);
  if (::access(program.c_str(), X_OK) != 0)
    throw Error(
        ExitCode::failure,
        fmt::format("{}: not there; make build makes it beside lathe (not with sanitizers, not for CUDA)",
                    printable(program.string())));
  return [program](std::span<const std::string> left) {
    std::vector<char*> words = {const_cast<char*>(program.c_str())};
    for (const std::string& word : left) words.push_back(const_cast<char*>(word.c_str()));
    words.push_back(nullptr);
    ::execv(program.c_str(), words.data());
    throw std::runtime_error(program.string() + ": " + std::strerror(errno));
    return 1;
  };
}

}  // namespace lathe
