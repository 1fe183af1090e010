// Every run has its own folder, made atomically and never overwritten.
#pragma once

#include <filesystem>
#include <string>

namespace lathe {

struct RunFolder {
  std::filesystem::path path;

  // runs/<command>/<name>, or the next free number where `name` is empty; a taken name gets -2, -3, …
  static RunFolder create(const std::string& command, const std::string& name = "",
                          const std::filesystem::path& root = "runs");
  // --out: exactly this folder. Error(usage) unless it does not exist or is empty.
  static RunFolder create_at(const std::filesystem::path& path);
  // --resume: a folder that holds state/last.safetensors. Error(usage) where it does not.
  static RunFolder open(const std::filesystem::path& path);

  std::filesystem::path args() const { return path / "args.json"; }
  std::filesystem::path events() const { return path / "events.jsonl"; }
  std::filesystem::path results() const { return path / "results.csv"; }
  std::filesystem::path log() const { return path / "train.log"; }
  std::filesystem::path classes() const { return path / "classes.txt"; }
  std::filesystem::path best_weights() const { return path / "weights" / "best.safetensors"; }
  std::filesystem::path last_weights() const { return path / "weights" / "last.safetensors"; }
  std::filesystem::path state() const { return path / "state" / "last.safetensors"; }
  std::filesystem::path report() const { return path / "report.html"; }
};

}  // namespace lathe
