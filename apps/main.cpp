// The program: words to a command, errors to one line and an exit code.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <new>

#include "apps/command_line/help.h"
#include "apps/commands.h"
#include "apps/run/console.h"
#include "engine/graph/operation.h"
#include "engine/runtime/error.h"
#include "engine/runtime/threads.h"

namespace lathe {
namespace {

void print(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// Unlike fmt::print it does not throw where stderr is full.
void print_error(const std::string& text) { std::fwrite(text.data(), 1, text.size(), stderr); }

int complain(ExitCode code, std::string message) {
  std::replace_if(
      message.begin(), message.end(), [](char c) { return c == '\n' || c == '\r'; }, ' ');
  print_error("lathe: " + message + "\n");
  return static_cast<int>(code);
}

// Names of operations in --kernels, which only the linked layers know.
template <typename Config>
const Config& checked(const Config& config) {
  check_operations(config.switches, Registry::instance().operations());
  return config;
}

int run(const std::vector<std::string>& words) {
  CommandLine line = parse_command_line(words, process_environment());
  for (const std::string& warning : line.warnings) print_error("lathe: warning: " + warning + "\n");
  if (line.version) {
    print("lathe " LATHE_VERSION " (" LATHE_BUILD " build)\n");
    return 0;
  }
  if (line.help) {
    if (line.help_about.empty()) print(program_help());
    for (Command command : line.help_about)
      print((command == line.help_about[0] ? "" : "\n") + command_help(command));
    return 0;
  }
  if (line.settings.has("print-config") && line.settings.on("print-config")) {
    print(config_listing(line));
    return 0;
  }
  switch (line.command) {
    case Command::train:
      return train(checked(train_config(line)));
    case Command::evaluate:
      return evaluate(checked(evaluate_config(line)));
    case Command::predict:
      return predict(checked(predict_config(line)));
    case Command::data_check:
    case Command::data_preview:
    case Command::data_export:
      return data_tool(data_tool_config(line));
    case Command::kernels_list:
    case Command::kernels_check:
    case Command::kernels_trace:
    case Command::kernels_time:
    case Command::kernels_explain:
      return kernels_tool(kernels_config(line));
    case Command::doctor:
      return doctor(doctor_config(line));
    case Command::completion:
      print(completion_script(line.positionals));
      return 0;
    case Command::man:
      print(manual_page());
      return 0;
    case Command::none:
      break;
  }
  return 0;
}

// A result that did not reach stdout is a failure, but for a reader that had enough (`lathe … | head -1`).
int flushed(int code) {
  if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return code;
  return errno == EPIPE || code != 0 ? code
                                     : complain(ExitCode::failure, "stdout: the result could not be written");
}

}  // namespace
}  // namespace lathe

int main(int argc, char** argv) {
  using namespace lathe;
  limit_spinning(argv);
  prepare_streams();  // a closed pipe must not cost a checkpoint
  try {
    return flushed(run({argv + std::min(argc, 1), argv + argc}));
  } catch (const Error& error) {
    return complain(error.code(), error.what());
  } catch (const std::bad_alloc&) {
    return complain(ExitCode::device,
                    "out of memory; a smaller --batch-size, --width or --image-size needs less");
  } catch (const std::exception& error) {
    return complain(ExitCode::failure, error.what());
  }
}
