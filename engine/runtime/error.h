// The one exception type of Lathe, and the exit codes that are the command line's contract.
#pragma once

#include <stdexcept>
#include <string>

namespace lathe {

enum class ExitCode : int {
  done = 0,
  failure = 1,
  usage = 2,       // command line or configuration
  data = 3,        // pictures, folders, labels
  device = 4,      // device or memory
  not_finite = 5,  // loss is NaN or infinite
  missed = 6,      // target missed or regression found
};

// What reaches the user as one line: what, where, what to do. No trailing full stop is added.
class Error : public std::runtime_error {
 public:
  Error(ExitCode code, const std::string& message) : std::runtime_error(message), code_(code) {}
  ExitCode code() const { return code_; }

 private:
  ExitCode code_;
};

}  // namespace lathe
