// The report: self-contained, escaped, small, and whole whatever the numbers in it.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>

#include "apps/report/axis.h"
#include "apps/report/charts.h"
#include "apps/report/html.h"
#include "apps/report/png.h"
#include "apps/report/train_report.h"
#include "datasets/decode.h"
#include "datasets/png.h"
#include "engine/runtime/error.h"
#include "tests/apps/report_sample.h"

namespace lathe {
namespace {

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

size_t count(const std::string& text, const std::string& part) {
  size_t n = 0;
  for (size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// No tag is left open, no number is NaN, no address points outside.
void expect_sound(const std::string& html) {
  for (const char* tag : {"div", "section", "table", "tr", "td", "th", "svg", "figure", "p", "span", "g",
                          "dl", "details", "thead", "tbody", "text"}) {
    const std::string open = std::string("<") + tag;
    EXPECT_EQ(count(html, open + " ") + count(html, open + ">"), count(html, std::string("</") + tag + ">"))
        << tag;
  }
  for (const char* attribute : {"x", "y", "x1", "x2", "y1", "y2", "cx", "cy", "width", "height", "d"}) {
    for (const char* bad : {"nan", "-nan", "inf", "-inf", "M-nan", "Mnan", "Minf", "M-inf"}) {
      EXPECT_EQ(html.find(std::string(" ") + attribute + "=\"" + bad), std::string::npos) << attribute << bad;
    }
  }
  for (const char* outside :
       {"src=\"http", "href=\"http", "url(", "@import", "<script", "<link", "<iframe", "src=\"//"}) {
    EXPECT_EQ(html.find(outside), std::string::npos) << outside;
  }
  EXPECT_EQ(count(html, " href="), count(html, " href=\"#"));
  EXPECT_EQ(count(html, " src="), count(html, " src=\"data:image/png;base64,"));
  EXPECT_LT(html.size(), 5'000'000U);
}

TEST(Report, SaysWhatAUserAsks) {
  const std::string html = train_report_html(sample_report());
  expect_sound(html);
  for (const char* part :
       {"<b>317 of 329</b>", "96.4% (95% interval 93.7%–97.9%)", "PASS", "target of 92%", "best: 9",
        "batch size varies", "waiting for data", "against planned", "Expected calibration error", "taken for",
        "lathe train --data", "flag", "seed", "sha256"}) {
    EXPECT_NE(html.find(part), std::string::npos) << part;
  }
  EXPECT_GE(count(html, "<img"), 16U);
}

TEST(Report, APassByLuckAndAMissAreSaidSo) {
  TrainReport report = sample_report();
  report.target_top1 = 0.95;
  EXPECT_NE(train_report_html(report).find("may be luck"), std::string::npos);
  report.target_top1 = 0.97;
  EXPECT_NE(train_report_html(report).find("FAIL"), std::string::npos);
  EXPECT_NE(train_report_html(report).find("lies within the interval"), std::string::npos);
  report.target_top1 = 0.99;
  EXPECT_NE(train_report_html(report).find("is missed by the whole interval"), std::string::npos);
}

TEST(Report, AnEmptyRunIsStillAPage) {
  expect_sound(train_report_html({}));
  TrainReport one;
  one.epochs = {{.epoch = 1, .train_loss = 2.3, .val_loss = kNaN}};
  one.best_epoch = 1;
  one.status = "loss not finite";
  const std::string html = train_report_html(one);
  expect_sound(html);
  EXPECT_NE(html.find("did not finish: loss not finite"), std::string::npos);
  one.confusion = ConfusionMatrix(1);
  expect_sound(train_report_html(one));
}

TEST(Report, UserTextIsEscaped) {
  TrainReport report = sample_report();
  const std::string evil = "<script>alert('1')</script>\"&\x1b\n";
  report.title = report.folder = report.status = report.started = evil;
  report.arguments = {{evil}, {{evil, evil, evil}}, {{evil, evil}}, {{evil, evil}}};
  report.switches = {{evil, evil, evil + "x", evil}};
  report.classes.assign(6, evil);
  report.data = report.hashes = {{evil, evil}};
  report.data_warnings = {evil};
  report.mistakes[0].file = report.mistakes[0].truth = report.mistakes[0].predicted = evil;
  report.augmented[0].caption = evil;
  const std::string html = train_report_html(report);
  expect_sound(html);
  EXPECT_EQ(html.find('\x1b'), std::string::npos);
  EXPECT_GT(count(html, "&lt;script&gt;"), 20U);
}

TEST(Report, AThousandClassesAndTenThousandEpochsFit) {
  TrainReport report = sample_report();
  report.classes.clear();
  report.confusion = ConfusionMatrix(1000);
  for (int64_t c = 0; c < 1000; ++c) {
    report.classes.push_back("a class with quite a long name, number " + std::to_string(c));
    report.confusion->add(c, c);
    report.confusion->add(c, (c * 7 + 1) % 1000);
  }
  report.epochs.clear();
  for (int64_t e = 1; e <= 10'000; ++e)
    report.epochs.push_back({.epoch = e, .train_loss = e % 100 == 0 ? kNaN : 1.0 / static_cast<double>(e)});
  const Picture noise = noise_picture(500, 300);
  report.augmented.assign(100, {noise, "noise"});
  report.mistakes.assign(100, {noise, "f", "a", "b", 0.5});
  report.data_warnings.assign(1000, std::string(5000, 'w'));
  const std::string html = train_report_html(report);
  expect_sound(html);
  EXPECT_NE(html.find("The 30 weakest") == std::string::npos ? html.find("the 30 weakest") : 0,
            std::string::npos);
  EXPECT_NE(html.find("68 more not shown"), std::string::npos);
}

TEST(Report, IsWrittenAtomically) {
  const std::filesystem::path path =
      std::filesystem::temp_directory_path() / ("lathe_report_" + std::to_string(getpid()) + ".html");
  write_train_report(path, sample_report());
  EXPECT_EQ(std::filesystem::file_size(path), train_report_html(sample_report()).size());
  std::filesystem::remove(path);
  EXPECT_THROW(write_train_report("/none/report.html", {}), Error);
}

TEST(Charts, StandAnyNumbers) {
  const std::vector<std::vector<double>> values = {{},
                                                   {1},
                                                   {kNaN},
                                                   {kInf},
                                                   {1, kNaN, 2, -kInf, 3},
                                                   {0, 0, 0},
                                                   {5, 5, 5},
                                                   {1e308, -1e308},
                                                   {1e-320, 2e-320},
                                                   {1e9, 1e9 + 1e-6},
                                                   {-1, -2, -3},
                                                   std::vector<double>(5000, 0.5),
                                                   {1e90, -1e90}};
  for (const std::vector<double>& y : values) {
    for (const bool share : {false, true}) {
      std::vector<double> x;
      for (size_t i = 0; i < y.size(); ++i) x.push_back(static_cast<double>(i + 1));
      LineChart chart{.title = "t",
                      .x_label = "x",
                      .series = {{"a", x, y}, {"b", x, y, true}},
                      .percent = share,
                      .marked_x = 2,
                      .marked_label = "m"};
      expect_sound(line_chart(chart));
      std::swap(chart.series[0].x, chart.series[0].y);
      chart.marked_x = kInf;
      expect_sound(line_chart(chart));
    }
    std::vector<Part> parts;
    for (const double v : y) parts.push_back({"n", v, "s"});
    expect_sound(stacked_bar("t", parts));
    expect_sound(bar_chart("t", parts));
    if (!y.empty()) expect_sound(interval_bar(y[0], {y[0], 1}, y[0]));
  }
  expect_sound(reliability_chart({}));
  EXPECT_NE(line_chart({}).find("no data"), std::string::npos);
}

TEST(Charts, PointsStandWhereTheyShould) {
  const Axis axis = Axis::tight({0, 10}, true);
  EXPECT_DOUBLE_EQ(axis.place(2.5), 0.25);
  EXPECT_EQ(axis.ticks(), (std::vector<double>{0, 2, 4, 6, 8, 10}));
  EXPECT_EQ(axis.label(4), "4");
  EXPECT_EQ(Axis::tight({1, 3}, true).ticks(), (std::vector<double>{1, 2, 3}));  // no epoch 1.5
  EXPECT_EQ(Axis::tight({0, 0.01}, false).label(0.002), "0.002");
  EXPECT_EQ(Axis::padded({0.5, 0.99}, true).place(1.0), 1.0);
}

TEST(Charts, AThinnedSeriesKeepsItsPeaks) {
  std::vector<double> x, y;
  for (int i = 0; i < 50'000; ++i)
    x.push_back(i), y.push_back(i == 31'415 ? 99.0 : i == 27'182 ? -99.0 : std::sin(i));
  const std::vector<Point> kept = reduced_points(x, y);
  EXPECT_LE(kept.size(), 1001U);
  EXPECT_TRUE(std::ranges::any_of(kept, [](const Point& p) { return p.x == 31'415 && p.y == 99.0; }));
  EXPECT_TRUE(std::ranges::any_of(kept, [](const Point& p) { return p.x == 27'182 && p.y == -99.0; }));
  EXPECT_TRUE(std::ranges::is_sorted(kept, {}, &Point::x));
}

TEST(Png, IsReadBackTheSame) {
  const Picture picture = noise_picture(7, 5);
  const std::vector<uint8_t> file = encode_png(picture);
  const Picture back = decode(file, Decoder::stb);
  EXPECT_EQ(back.rgb, picture.rgb);
  EXPECT_THROW(encode_png({}), Error);
  Picture wrong(2, 2);
  wrong.rgb.pop_back();
  EXPECT_THROW(encode_png(wrong), Error);
}

TEST(Png, Base64AsInRfc4648) {
  const auto encoded = [](const std::string& text) {
    return base64({reinterpret_cast<const uint8_t*>(text.data()), text.size()});
  };
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xff\xfe"), "///+");
}

}  // namespace
}  // namespace lathe
