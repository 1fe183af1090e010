// lathe predict: what is on these pictures?
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <iostream>
#include <nlohmann/json.hpp>
#include <numeric>

#include "apps/commands.h"
#include "apps/run/console.h"
#include "apps/training/inference_model.h"
#include "datasets/decode.h"
#include "engine/runtime/error.h"
#include "engine/runtime/threads.h"

namespace lathe {
namespace {

namespace fs = std::filesystem;

// The pictures that the arguments name: files, folders (every file below, in byte order), or "-": a list on
// stdin.
std::vector<std::string> expand(const std::vector<std::string>& arguments) {
  std::vector<std::string> files;
  for (const std::string& argument : arguments) {
    std::error_code error;
    if (argument == "-") {
      for (std::string line; std::getline(std::cin, line);) {
        if (!line.empty()) files.push_back(line);
      }
    } else if (fs::is_directory(argument, error)) {
      std::vector<std::string> inside;
      std::error_code unreadable;  // a link to itself, say: neither a folder nor a file
      for (auto entry = fs::recursive_directory_iterator(argument, error); !error && entry != fs::end(entry);
           entry.increment(error)) {
        if (entry->path().filename().string().rfind('.', 0) == 0) {
          if (entry->is_directory(unreadable)) entry.disable_recursion_pending();
        } else if (entry->is_regular_file(unreadable)) {
          inside.push_back(entry->path().string());
        }
      }
      if (error) throw Error(ExitCode::data, argument + ": " + error.message());
      if (inside.empty()) throw Error(ExitCode::data, argument + ": there is no file in this folder");
      std::sort(inside.begin(), inside.end());
      files.insert(files.end(), inside.begin(), inside.end());
    } else {
      files.push_back(argument);
    }
  }
  if (files.empty())
    throw Error(ExitCode::usage, "predict: name the pictures, a folder, or - for a list on stdin");
  return files;
}

// Picture files as an unlabelled source.
class FileSource final : public Source {
 public:
  FileSource(std::vector<std::string> files, std::vector<std::string> classes, Decoder decoder)
      : files_(std::move(files)), classes_(std::move(classes)), decoder_(decoder) {}
  int64_t size() const override { return static_cast<int64_t>(files_.size()); }
  const std::vector<std::string>& classes() const override { return classes_; }
  int64_t label(int64_t) const override { return 0; }
  std::string name(int64_t index) const override { return files_[static_cast<size_t>(index)]; }
  Picture read(int64_t index) const override { return decode_file(name(index), decoder_); }

 private:
  std::vector<std::string> files_, classes_;
  Decoder decoder_;
};

struct Answer {
  std::string file, error;
  std::vector<std::pair<std::string, float>> top;  // most probable first
};

std::vector<std::pair<std::string, float>> most_probable(const float* row,
                                                         const std::vector<std::string>& classes, int count) {
  std::vector<size_t> order(classes.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return row[a] > row[b]; });
  std::vector<std::pair<std::string, float>> top;
  for (size_t i = 0; i < std::min(order.size(), static_cast<size_t>(count)); ++i)
    top.emplace_back(classes[order[i]], row[order[i]]);
  return top;
}

void print_answers(const std::vector<Answer>& answers, bool json, Console& console) {
  for (const Answer& answer : answers) {
    if (json) {
      nlohmann::ordered_json line{{"file", answer.file}};
      if (!answer.error.empty()) line["error"] = answer.error;
      for (const auto& [name, probability] : answer.top)
        line["top"].push_back({{"class", name}, {"probability", probability}});
      console.result(line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
      continue;
    }
    std::string text = answer.file + ":";
    if (!answer.error.empty()) text += " cannot be read: " + answer.error;
    for (const auto& [name, probability] : answer.top)
      text += fmt::format("  {} {:.1f}%", name, 100 * probability);
    console.result(text);
  }
}

}  // namespace

int predict(const PredictConfig& config) {
  set_threads(config.run.threads);
  Options options = effective_options(config.switches);
  Console console;
  ModelSpec model = read_model_spec(config.weights);
  std::vector<std::string> files = expand(config.images);

  StageOptions stage;
  stage.image_size = model.image_size;
  stage.strict = config.data.strict_data;
  auto source = std::make_unique<FileSource>(files, model.classes, parse_decoder(config.data.decoder));
  std::vector<Answer> answers;
  std::map<std::string, size_t> readable;
  std::unique_ptr<StagedSet> set;
  std::vector<std::string> bad;
  try {
    set = std::make_unique<StagedSet>(std::move(source), stage);
    bad = set->bad();
  } catch (const Error& error) {
    if (files.size() == 1 || stage.strict) throw;
    throw Error(ExitCode::data,
                fmt::format("none of the {} files is a picture that can be read; the first: {}", files.size(),
                            error.what()));
  }
  InferenceModel inference(model, config.weights, options, set->height(), set->width(), config.batch_size);
  EvaluationResult result = inference.run(*set, options.workers);
  for (float probability : result.probabilities) {
    if (!std::isfinite(probability))
      throw Error(ExitCode::not_finite,
                  config.weights + ": its probabilities for these pictures are not finite");
  }

  // Good pictures keep their order, so bad ones fall into the gaps.
  int64_t good = 0;
  size_t next_bad = 0;
  for (const std::string& file : files) {
    if (good < set->size() && set->name(good) == file) {
      answers.push_back(
          {file, "",
           most_probable(result.probabilities.data() + good * result.classes, model.classes, config.top)});
      ++good;
    } else {
      std::string why = bad.at(next_bad++);
      if (why.rfind(file + ": ", 0) == 0) why = why.substr(file.size() + 2);
      answers.push_back({file, why, {}});
    }
  }
  print_answers(answers, config.run.json, console);
  console.finish();
  return static_cast<int>(ExitCode::done);  // a bad picture is a row; --strict-data makes it an error
}

}  // namespace lathe
