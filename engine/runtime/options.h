// Options: the single place for every optimisation switch (docs/design.md, section 3).
// Printed at the start of a run, stored in every result file, hashed into every cache key.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace lathe {

enum class Precision { fp32, tf32, bf16, fp16 };
enum class Memory { naive, pool, plan };

// Requested values. What is in effect can differ (see Switch); --strict makes a difference an error.
struct Options {
  std::string kernels = "library";  // implementation of every operation …
  std::map<std::string, std::string> kernels_by_op =
      {};  // … and per operation, e.g. {"conv2d", "handwritten"}
  Precision precision = Precision::fp32;
  std::string layout = "native";  // nchw, nhwc or native (the library's own blocked layout)
  std::string fusion = "off";     // on, off, or a comma-separated list of rules
  Memory memory = Memory::plan;
  std::string recompute = "off";  // off, auto, or a budget in MiB
  bool capture = false;           // replay the step as a CUDA graph
  bool overlap = true;            // load and copy while computing
  int workers = 1;                // loader threads; 0 loads in the training thread
  bool augment_on_device = true;
  bool winograd = false;  // 3×3 convolutions by Winograd transforms where that is faster
  bool autotune = false;
  bool deterministic = true;
  bool strict = false;

  std::string implementation_for(const std::string& operation) const;
  bool operator==(const Options&) const = default;
};

// One row of the requested-versus-effective table; reason is empty where the two agree.
struct Switch {
  std::string name, requested, effective, reason;
};

// The switches by their command-line names, in the order of the table of docs/design.md.
const std::vector<std::string>& switch_names();

// One switch as text, and from text: switch_value(o, "capture") is "on" or "off".
// set_switch throws Error(usage) that says what is accepted. Names of operations are checked by
// check_operations, when the operations are known.
std::string switch_value(const Options& options, const std::string& name);
void set_switch(Options& options, const std::string& name, const std::string& value);

// Throws Error(usage), with a suggestion, for an operation in --kernels that is not in `operations`.
void check_operations(const Options& options, const std::vector<std::string>& operations);

// What a build can do now: for each limited switch the values that work and what replaces the others.
// Defined once per build, in limits_onednn.cpp (host) and limits_cudnn.cpp (cuda).
struct Limit {
  std::string name;                // of the switch
  std::vector<std::string> works;  // values that take effect
  std::string fallback;            // what any other value becomes …
  std::string reason;              // … and why
};
const std::vector<Limit>& build_limits();

// Every switch of `options` with the value that this build gives it.
std::vector<Switch> effective_switches(const Options& options);

// The options as they will really run. With options.strict throws Error(usage) listing the differences.
Options effective_options(const Options& options);

// Stable text of every switch, "kernels=library precision=fp32 …": for cache keys and result files.
std::string to_string(const Options& options);
// FNV-1a of to_string(options).
uint64_t hash(const Options& options);

}  // namespace lathe
