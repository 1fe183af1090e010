// The page from top to bottom: a function a section.
#include "apps/report/train_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "apps/report/charts.h"
#include "apps/report/html.h"
#include "apps/report/png.h"
#include "apps/run/console.h"
#include "engine/runtime/atomic_file.h"
#include "engine/runtime/error.h"

namespace lathe {

namespace {

constexpr int64_t kPictureSide = 112;            // pixels, twice the size shown on most screens' grids
constexpr size_t kMostPictureBytes = 3'500'000;  // of the whole page's 5 MB
constexpr size_t kMostPictures = 32;
constexpr size_t kMostRows = 1000;
constexpr size_t kMostBars = 30;

std::string percent(double share, int decimals = 1) {
  return std::isfinite(share) ? fmt::format("{:.{}f}%", 100 * share, decimals) : "–";
}

std::string number(double value, int decimals) {
  return std::isfinite(value) ? fmt::format("{:.{}f}", value, decimals) : "–";
}

std::string seconds(double s) {
  if (!std::isfinite(s)) return "–";
  return s < 0.1  ? fmt::format("{:.1f} ms", 1000 * s)
         : s < 60 ? fmt::format("{:.1f} s", s)
                  : format_duration(s);
}

std::string badge(const char* kind, const std::string& text) {
  return fmt::format("<span class=\"badge {}\">{}</span>", kind, text);
}

const EpochResult* best_epoch(const TrainReport& report) {
  const auto found = std::ranges::find(report.epochs, report.best_epoch, &EpochResult::epoch);
  return found == report.epochs.end() ? nullptr : &*found;
}

std::string heading(const char* text, const std::string& body) {
  return body.empty() ? "" : fmt::format("<h3>{}</h3>\n{}", text, body);
}

// Side by side where there is room.
std::string columns(const std::string& left, const std::string& right) {
  if (left.empty() || right.empty()) return left + right;
  return "<div class=\"columns\"><div>\n" + left + "</div><div>\n" + right + "</div></div>\n";
}

// --- verdict ---------------------------------------------------------------------------------------------

std::string target_sentence(double accuracy, Interval interval, double target) {
  const std::string goal = fmt::format("{:.4g}%", 100 * target);
  if (accuracy >= target) {
    return fmt::format("<p>{} The target of {} is met{}</p>\n", badge("good", "PASS"), goal,
                       interval.low >= target
                           ? " by the whole interval."
                           : ", but the interval reaches below it: with so few pictures this may be luck.");
  }
  return fmt::format("<p>{} The target of {} is missed{}</p>\n", badge("bad", "FAIL"), goal,
                     interval.high < target ? " by the whole interval."
                                            : ", but lies within the interval: more pictures would tell.");
}

std::string verdict(const TrainReport& report) {
  if (!report.confusion || report.confusion->total() == 0) {
    const bool trained = !report.epochs.empty();
    const std::string loss = trained ? number(report.epochs.back().train_loss, 4) : "–";
    return fmt::format(
        "<div class=\"verdict\"><div class=\"figure\">{}<small> "
        "loss</small></div><div><p>{}</p></div></div>\n",
        loss,
        trained ? "There was no validation: the training loss alone says little about new pictures."
                : "No epoch was completed: there is no result.");
  }
  const int64_t correct = report.confusion->correct(), total = report.confusion->total();
  const double accuracy = static_cast<double>(correct) / static_cast<double>(total);
  const Interval interval = wilson_interval(correct, total);
  const std::string which =
      report.best_epoch > 0 ? fmt::format("The best weights (epoch {})", report.best_epoch) : "The weights";
  std::string sentences = fmt::format(
      "<p>{} classify <b>{} of {}</b> validation pictures correctly: {} (95% interval {}–{}).</p>\n", which,
      correct, total, percent(accuracy), percent(interval.low), percent(interval.high));
  if (report.target_top1) sentences += target_sentence(accuracy, interval, *report.target_top1);
  return fmt::format(
      "<div class=\"verdict\"><div class=\"figure\">{}<small>%</small></div><div>{}{}</div></div>\n",
      number(100 * accuracy, 1), sentences, interval_bar(accuracy, interval, report.target_top1));
}

std::string tile(const std::string& value, const std::string& name) {
  return fmt::format("<div class=\"tile\"><b>{}</b><span>{}</span></div>\n", value, name);
}

std::string tiles(const TrainReport& report) {
  std::string all;
  if (const EpochResult* best = best_epoch(report)) {
    all += tile(fmt::format("{} of {}", best->epoch, report.epochs.back().epoch), "best epoch");
    all += tile(number(best->val_loss, 4), "validation loss there");
  }
  if (!report.epochs.empty()) all += tile(number(report.epochs.back().img_s, 0), "images/s in training");
  if (report.time.total() > 0) {
    all += tile(seconds(report.time.total()), "time in all");
    all += tile(percent(report.time.data_wait_s / report.time.total()), "of it waiting for data");
  }
  if (report.memory.measured > 0)
    all += tile(format_bytes(static_cast<double>(report.memory.measured)), "peak memory");
  return all.empty() ? "" : "<div class=\"tiles\">\n" + all + "</div>\n";
}

// --- what ran --------------------------------------------------------------------------------------------

std::string switches(const TrainReport& report) {
  std::vector<std::vector<std::string>> rows = {{"switch", "requested", "in effect", "reason"}};
  for (const SwitchEvent& one : report.switches) {
    const std::string effective = html_text(one.effective);
    rows.push_back({html_text(one.name), html_text(one.requested),
                    one.requested == one.effective ? effective : badge("warn", effective),
                    html_text(one.reason, 1000)});
  }
  std::string ran = rows.size() > 1 ? html_table(rows) : "";
  const auto options = [&](bool defaults) {
    std::vector<std::vector<std::string>> table = {{"option", "value", "from"}};
    for (const OptionRecord& option : report.arguments.options) {
      if ((option.origin == "default") != defaults) continue;
      table.push_back({html_text(option.name), html_text(option.value, 1000), html_text(option.origin)});
    }
    return table.size() > 1 ? html_table(table) : "";
  };
  const std::string set = options(false);
  std::string left = html_details("Options left at their default", options(true));
  if (ran.empty() && set.empty()) return left;
  return columns(heading("Switches", ran), heading("Options set for this run", set) + left);
}

// --- curves ----------------------------------------------------------------------------------------------

Series series(const TrainReport& report, const std::string& name, double EpochResult::*field,
              bool dashed = false) {
  Series one{name, {}, {}, dashed};
  for (const EpochResult& epoch : report.epochs) {
    if (std::isnan(epoch.*field)) continue;  // not evaluated
    one.x.push_back(static_cast<double>(epoch.epoch));
    one.y.push_back(epoch.*field);
  }
  return one;
}

std::string curves(const TrainReport& report) {
  if (report.epochs.empty()) return "";
  const auto chart = [&](LineChart one) {
    one.x_label = "epoch";
    if (report.best_epoch > 0) {
      one.marked_x = static_cast<double>(report.best_epoch);
      one.marked_label = fmt::format("best: {}", report.best_epoch);
    }
    return line_chart(one);
  };
  LineChart loss, accuracy, rate, speed;
  loss.title = "Loss";
  loss.series = {series(report, "training", &EpochResult::train_loss),
                 series(report, "validation", &EpochResult::val_loss)};
  accuracy.title = "Top-1 accuracy";
  accuracy.percent = true;
  accuracy.series = {series(report, "training", &EpochResult::train_top1),
                     series(report, "validation", &EpochResult::val_top1)};
  rate.title = "Learning rate";
  rate.series = {series(report, "", &EpochResult::lr)};
  speed.title = "Images/s in training";
  speed.from_zero = true;
  speed.series = {series(report, "", &EpochResult::img_s)};
  return fmt::format(
      "<div class=\"charts\">\n{}{}{}{}</div>\n"
      "<p class=\"note\">Training figures are means over an epoch's augmented pictures while the weights "
      "changed; validation "
      "figures are of the weights at its end, without augmentation.</p>\n",
      chart(loss), chart(accuracy), chart(rate), chart(speed));
}

std::string time_split(const TimeSplit& time) {
  if (!(time.total() > 0)) return "";
  std::vector<Part> parts = {{"compute", time.compute_s, seconds(time.compute_s)},
                             {"waiting for data", time.data_wait_s, seconds(time.data_wait_s)},
                             {"evaluation", time.evaluation_s, seconds(time.evaluation_s)},
                             {"saving", time.saving_s, seconds(time.saving_s)}};
  if (time.other_s > 0) parts.push_back({"other", time.other_s, seconds(time.other_s)});
  return stacked_bar("Where the time went", parts);
}

std::string memory_table(const MemoryUse& memory) {
  if (memory.planned <= 0 && memory.measured <= 0) return "";
  std::vector<std::vector<std::string>> rows = {{"memory", "peak", "against planned"}};
  const auto add = [&](const char* name, int64_t bytes) {
    if (bytes <= 0) return;
    const auto size = static_cast<double>(bytes);
    rows.push_back(
        {name, format_bytes(size),
         memory.planned > 0 ? fmt::format("{:.3f}", size / static_cast<double>(memory.planned)) : "–"});
  };
  add("lower bound of the plan", memory.lower_bound);
  add("planned", memory.planned);
  add("measured", memory.measured);
  return html_table(rows, " nn");
}

std::string cost(const TrainReport& report) {
  return columns(time_split(report.time), memory_table(report.memory));
}

// --- classes ---------------------------------------------------------------------------------------------

std::string class_table(const TrainReport& report, const std::vector<ClassMetrics>& metrics) {
  std::vector<std::vector<std::string>> rows = {
      {"class", "pictures", "predicted", "precision", "recall", "F1"}};
  const auto share = [](double value, int64_t of) { return of > 0 ? percent(value) : std::string("–"); };
  for (size_t c = 0; c < std::min(metrics.size(), kMostRows); ++c) {
    const ClassMetrics& m = metrics[c];
    rows.push_back({html_text(class_name(report.classes, static_cast<int64_t>(c))), std::to_string(m.support),
                    std::to_string(m.predicted), share(m.precision, m.predicted), share(m.recall, m.support),
                    number(m.f1, 3)});
  }
  std::string table = html_table(rows, " nnnnn");
  if (metrics.size() > kMostRows) {
    table += fmt::format("<p class=\"note\">… and {} more classes.</p>\n", metrics.size() - kMostRows);
  }
  return metrics.size() > kMostBars ? html_details(fmt::format("All {} classes", metrics.size()), table)
                                    : table;
}

std::string recall_bars(const TrainReport& report, const std::vector<ClassMetrics>& metrics) {
  std::vector<size_t> order(metrics.size());
  std::iota(order.begin(), order.end(), 0);
  std::erase_if(order, [&](size_t c) { return metrics[c].support == 0; });
  std::ranges::stable_sort(order, {}, [&](size_t c) { return metrics[c].recall; });
  const std::string title = order.size() > kMostBars
                                ? fmt::format("Recall, the {} weakest classes", kMostBars)
                                : "Recall, weakest class first";
  order.resize(std::min(order.size(), kMostBars));
  std::vector<Part> bars;
  bars.reserve(order.size());
  for (const size_t c : order) {
    bars.push_back(
        {class_name(report.classes, static_cast<int64_t>(c)), metrics[c].recall, percent(metrics[c].recall)});
  }
  return bar_chart(title, bars);
}

std::string classes(const TrainReport& report) {
  if (!report.confusion || report.confusion->total() == 0) return "";
  const std::vector<ClassMetrics> metrics = report.confusion->per_class();
  const std::string matrix = confusion_table(*report.confusion, report.classes);
  const std::string bars = recall_bars(report, metrics), table = class_table(report, metrics);
  const bool narrow = report.confusion->classes() <= 6;  // the matrix leaves room beside it
  return narrow ? columns(matrix, bars) + table : matrix + columns(bars, table);
}

std::string calibration(const TrainReport& report) {
  if (!report.calibration) return "";
  return columns(
      reliability_chart(*report.calibration),
      fmt::format(
          "<p>Expected calibration error <b>{}</b>: the mean distance between how sure the model is and how "
          "often it is right.</p>\n<p class=\"note\">Points below the dotted line are overconfident.</p>\n",
          percent(report.calibration->expected_error)));
}

// --- pictures --------------------------------------------------------------------------------------------

// A grid of pictures; `budget` is what is left of the page's bytes for them.
class PictureGrid {
 public:
  explicit PictureGrid(size_t& budget) : budget_(budget) {}

  void add(const Picture& picture, const std::string& caption, const std::string& alternative) {
    ++given_;
    if (shown_ == kMostPictures) return;
    std::string source;
    try {
      source = png_data_uri(picture, kPictureSide);
    } catch (const Error&) {
      return;  // an empty picture is counted as not shown
    }
    if (source.size() > budget_) return;
    budget_ -= source.size();
    ++shown_;
    const bool small = std::max(picture.width, picture.height) <= 64;
    cells_ += fmt::format("<figure{}><img src=\"{}\" alt=\"{}\"><figcaption>{}</figcaption></figure>\n",
                          small ? " class=\"small\"" : "", source, alternative, caption);
  }
  std::string html() const {
    if (given_ == 0) return "";
    return "<div class=\"pictures\">\n" + cells_ + "</div>\n" +
           (given_ > shown_ ? fmt::format("<p class=\"note\">{} more not shown.</p>\n", given_ - shown_)
                            : "");
  }

 private:
  size_t& budget_;
  size_t given_ = 0, shown_ = 0;
  std::string cells_;
};

std::string augmented(const TrainReport& report, size_t& budget) {
  PictureGrid grid(budget);
  for (const CaptionedPicture& one : report.augmented)
    grid.add(one.picture, html_text(one.caption), html_text(one.caption));
  return grid.html();
}

std::string mistakes(const TrainReport& report, size_t& budget) {
  PictureGrid grid(budget);
  for (const Mistake& one : report.mistakes) {
    grid.add(one.picture,
             fmt::format("<span title=\"{}\"><b>{}</b><br>taken for {}, {}</span>", html_text(one.file),
                         html_text(one.truth), html_text(one.predicted), percent(one.probability, 0)),
             html_text(one.truth + " taken for " + one.predicted));
  }
  return grid.html();
}

// --- data and how to repeat it ---------------------------------------------------------------------------

std::string data(const TrainReport& report) {
  std::string body = html_facts(report.data);
  for (size_t w = 0; w < report.data_warnings.size(); ++w) {
    if (w == 50)
      return body +
             fmt::format("<p class=\"note\">… and {} more warnings.</p>\n", report.data_warnings.size() - w);
    body += fmt::format("<p class=\"warning\">{}</p>\n", html_text(report.data_warnings[w], 1000));
  }
  return body;
}

std::string repeat(const TrainReport& report) {
  std::string body;
  if (!report.arguments.command_line.empty()) {
    body += fmt::format("<pre>{}</pre>\n", html_text(shell_command(report.arguments.command_line), 20'000));
  }
  body += html_facts(
      {{"seed", std::to_string(report.seed)}, {"run folder", report.folder}, {"started", report.started}});
  return body +
         columns(heading("Machine", html_facts(report.arguments.machine)),
                 heading("Versions", html_facts(report.arguments.versions))) +
         heading("Hashes", html_facts(report.hashes));
}

}  // namespace

std::string train_report_html(const TrainReport& report) {
  struct Section {
    const char *id, *link, *heading;
    std::string body;
  };
  size_t budget = kMostPictureBytes;
  const std::vector<Section> sections = {
      {"ran", "Switches", "What was asked, what ran", switches(report)},
      {"curves", "Curves", "Training", curves(report)},
      {"cost", "Cost", "Time and memory", cost(report)},
      {"classes", "Classes", "Which classes it confuses", classes(report)},
      {"calibration", "Calibration", "Can its confidence be trusted?", calibration(report)},
      {"mistakes", "Mistakes", "The worst mistakes", mistakes(report, budget)},
      {"inputs", "Inputs", "What the network saw in training", augmented(report, budget)},
      {"data", "Data", "Data", data(report)},
      {"repeat", "Repeat", "How to repeat it", repeat(report)},
  };
  std::string links, bodies;
  for (const Section& section : sections) {
    if (section.body.empty()) continue;
    links += fmt::format("<a href=\"#{}\">{}</a>\n", section.id, section.link);
    bodies += html_section(section.id, section.heading, section.body);
  }
  std::string head = fmt::format(
      "<header><div class=\"brand\">Lathe</div><h1>{}</h1>\n<div "
      "class=\"muted\">{}{}{}</div>\n<nav>{}</nav></header>\n",
      html_text(report.title), html_text(report.folder), report.started.empty() ? "" : " · ",
      html_text(report.started), links);
  if (report.status != "done") {
    head += fmt::format(
        "<p class=\"warning\">This run did not finish: {}. What follows is what it had reached.</p>\n",
        html_text(report.status));
  }
  return html_page("Lathe: " + report.title, head + verdict(report) + tiles(report) + bodies);
}

void write_train_report(const std::filesystem::path& path, const TrainReport& report) {
  write_file_atomically(path, train_report_html(report));
}

}  // namespace lathe
