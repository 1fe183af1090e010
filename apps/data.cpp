// lathe data: check, preview, export — what training will see, before it does.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "apps/commands.h"
#include "apps/open_options.h"
#include "apps/run/console.h"
#include "apps/run/run_folder.h"
#include "apps/training/augmented.h"
#include "datasets/check.h"
#include "datasets/png.h"
#include "engine/runtime/error.h"

namespace lathe {
namespace {

nlohmann::ordered_json to_json(const SplitReport& split, const std::vector<std::string>& classes) {
  nlohmann::ordered_json json{{"pictures", split.pictures},
                              {"bad", split.bad},
                              {"smallest_side", split.smallest_side},
                              {"largest_side", split.largest_side},
                              {"gray", split.gray}};
  for (size_t c = 0; c < split.per_class.size(); ++c) json["classes"][classes[c]] = split.per_class[c];
  return json;
}

int check(const DataToolConfig& config, Console& console) {
  DataReport report =
      check_data(open_sources(config.data.spec, config.data.val, open_options(config.data, config.run.seed)),
                 config.workers);
  if (config.run.json) {
    nlohmann::ordered_json json{{"train", to_json(report.train, report.classes)},
                                {"validation", to_json(report.validation, report.classes)},
                                {"imbalance", report.imbalance},
                                {"spoiled", report.spoiled()},
                                {"findings", report.lines()}};
    console.result(json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
  } else {
    for (const std::string& line : report.lines()) console.result(line);
  }
  return static_cast<int>(report.spoiled() ? ExitCode::data : ExitCode::done);
}

// A row a picture: as it is, then under successive epochs' draws.
Picture preview_grid(const StagedSet& set, const DataToolConfig& config, int64_t rows, int64_t draws) {
  const int64_t size = config.data.image_size, gap = 2;
  AugmentOptions augment = parse_augment(config.data.augment, size);
  Normalization normalization =
      parse_normalize(config.data.normalize.empty() ? "cifar10" : config.data.normalize);
  const Options options;
  std::vector<AugmentedSample> shown, drawn;
  for (int64_t row = 0; row < rows; ++row) {
    shown.push_back({row * set.size() / rows, 0});
    for (int64_t epoch = 0; epoch < draws; ++epoch) drawn.push_back({shown.back().sample, epoch});
  }
  auto plain =
      augmented_pictures(set, shown, AugmentOptions{}, normalization, size, config.run.seed, options);
  auto after = augmented_pictures(set, drawn, augment, normalization, size, config.run.seed, options);
  const int64_t columns = draws + 1;
  Picture grid(rows * (size + gap) + gap, columns * (size + gap) + 3 * gap);
  std::fill(grid.rgb.begin(), grid.rgb.end(), uint8_t{255});
  for (int64_t cell = 0; cell < rows * columns; ++cell) {
    int64_t row = cell / columns, column = cell % columns;
    const Picture& picture =
        column == 0 ? plain[static_cast<size_t>(row)] : after[static_cast<size_t>(row * draws + column - 1)];
    int64_t top = gap + row * (size + gap), left = gap + column * (size + gap) + (column > 0 ? 2 * gap : 0);
    for (int64_t y = 0; y < size; ++y) {
      std::copy_n(picture.pixel(y, 0), size * 3, grid.pixel(top + y, left));
    }
  }
  return grid;
}

RunFolder output_folder(const DataToolConfig& config, const std::string& command) {
  if (!config.run.out.empty()) return RunFolder::create_at(config.run.out);
  return RunFolder::create(command, config.run.name);
}

int preview(const DataToolConfig& config, Console& console) {
  constexpr int64_t kDraws = 11;
  Datasets data =
      open_datasets(config.data.spec, config.data.val, open_options(config.data, config.run.seed));
  for (const std::string& warning : data.warnings) console.warning(warning);
  int64_t rows = std::min(config.count, data.train->size());
  if (rows * config.data.image_size > 30000) {
    throw Error(
        ExitCode::usage,
        fmt::format("--count {}: {} rows of {} pixels make no picture that a viewer opens; ask for fewer",
                    config.count, rows, config.data.image_size));
  }
  Picture grid = preview_grid(*data.train, config, rows, kDraws);
  RunFolder folder = output_folder(config, "preview");
  std::string path = (folder.path / "preview.png").string();
  write_png(path, grid);
  console.note(fmt::format("{} training pictures, a row each: as it is, then as epochs 1 to {} see it ({})",
                           rows, kDraws,
                           to_string(parse_augment(config.data.augment, config.data.image_size))));
  console.result(path);
  return 0;
}

}  // namespace

int data_tool(const DataToolConfig& config) {
  Console console;
  int code = 0;
  if (config.command == Command::data_check) code = check(config, console);
  if (config.command == Command::data_preview) code = preview(config, console);
  if (config.command == Command::data_export) {
    std::string directory = config.run.out;
    if (directory.empty())
      throw Error(ExitCode::usage, "data export: name the folder to write with --out DIR");
    std::vector<std::string> skipped = export_data(
        open_sources(config.data.spec, config.data.val, open_options(config.data, config.run.seed)),
        directory, config.workers);
    for (const std::string& line : skipped) console.warning("left out: " + line);
    console.result(directory);
  }
  console.finish();
  return code;
}

}  // namespace lathe
