#include "cli/accuracy_plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/common/svg.h"
#include "starling/core/error.h"

namespace starling::cli {

RunCurve read_curve(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "summary.json";
  std::ifstream file(path);
  if (!file)
    throw InvalidArgument(
        concat("'", folder.string(), "' has no summary.json; allowed: folders of finished runs"));
  RunCurve run;
  try {
    const nlohmann::json json = nlohmann::json::parse(file);
    run.name = json.at("strategy").get<std::string>();
    run.seconds = json.at("seconds").get<double>();
    if (json.at("samples_per_second").is_number())
      run.samples_per_second = json["samples_per_second"].get<double>();
    for (const nlohmann::json& point : json.at("accuracy_curve")) {
      run.points.push_back({point.at(0).get<double>(), point.at(1).get<double>()});
    }
  } catch (const nlohmann::json::exception& error) {
    throw InvalidArgument(
        concat("'", path.string(), "' is not the summary of a training run: ", error.what()));
  }
  if (run.points.empty()) throw InvalidArgument(concat("'", path.string(), "' has no accuracy over time"));
  return run;
}

std::optional<double> seconds_to(const RunCurve& run, double accuracy) {
  for (std::size_t i = 0; i < run.points.size(); ++i) {
    const CurvePoint& point = run.points[i];
    if (point.accuracy < accuracy) continue;
    if (i == 0) return point.seconds;
    const CurvePoint& before = run.points[i - 1];
    const double share = (accuracy - before.accuracy) / (point.accuracy - before.accuracy);
    return before.seconds + share * (point.seconds - before.seconds);
  }
  return {};
}

double common_accuracy(const std::vector<RunCurve>& runs) {
  double common = 1;
  for (const RunCurve& run : runs) {
    double best = 0;
    for (const CurvePoint& point : run.points) best = std::max(best, point.accuracy);
    common = std::min(common, best);
  }
  return std::floor(common * 100 + 1e-9) / 100;  // 0.29 * 100 is a little less than 29
}

namespace {

constexpr double kLeft = 56, kTop = 40, kWidth = 620, kHeight = 280;

struct Frame {
  double seconds;
  double lowest;
  double x(double value) const { return kLeft + value / seconds * kWidth; }
  double y(double accuracy) const { return kTop + (1 - (accuracy - lowest) / (1 - lowest)) * kHeight; }
};

// 1, 2 or 5 times a power of ten, so that there are about six of them.
double tick(double range) {
  const double rough = range / 6, power = std::pow(10, std::floor(std::log10(rough)));
  for (const double step : {1.0, 2.0, 5.0}) {
    if (step * power >= rough) return step * power;
  }
  return 10 * power;
}

std::string axes(const Frame& frame) {
  std::string svg;
  for (double at = 0; at <= frame.seconds; at += tick(frame.seconds)) {
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{:g}</text>\n", frame.x(at),
                       kTop + kHeight + 18, at);
  }
  for (double at = 1; at >= frame.lowest - 1e-9; at -= tick(1 - frame.lowest)) {
    svg += fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#ddd'/>\n", kLeft,
                       kLeft + kWidth, frame.y(at), frame.y(at));
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:.2f}</text>\n", kLeft - 6,
                       frame.y(at) + 4, at);
  }
  svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>seconds</text>\n", kLeft + kWidth,
                     kTop + kHeight + 36);
  svg += fmt::format("<text x='{:.1f}' y='24' font-weight='bold'>Accuracy on the test set over time</text>\n",
                     kLeft);
  return svg;
}

std::string line_of(const RunCurve& run, const Frame& frame, double accuracy, std::size_t index) {
  const char* const colour = svg_colour(index);
  std::string points;
  for (const CurvePoint& point : run.points) {
    points += fmt::format("{:.1f},{:.1f} ", frame.x(point.seconds),
                          frame.y(std::max(point.accuracy, frame.lowest)));
  }
  std::string svg =
      fmt::format("<polyline points='{}' fill='none' stroke='{}' stroke-width='2'/>\n", points, colour);
  const std::optional<double> seconds = seconds_to(run, accuracy);
  if (seconds) {
    svg += fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='4' fill='{}'/>\n", frame.x(*seconds),
                       frame.y(accuracy), colour);
  }
  const std::string note = seconds ? fmt::format("{:.2f} after {:.1f} s", accuracy, *seconds) : "not reached";
  svg += fmt::format("<text x='{:.1f}' y='{:.1f}' fill='{}' text-anchor='end'>{}: {}</text>\n",
                     kLeft + kWidth - 8, kTop + kHeight - 16 - 18 * static_cast<double>(index), colour,
                     svg_escaped(run.name), note);
  return svg;
}

}  // namespace

std::string draw(const std::vector<RunCurve>& runs, double accuracy) {
  Frame frame{0, 1};
  for (const RunCurve& run : runs) {
    for (const CurvePoint& point : run.points) {
      frame.seconds = std::max(frame.seconds, point.seconds);
      if (point.seconds > 0) frame.lowest = std::min(frame.lowest, point.accuracy);
    }
  }
  frame.seconds = std::max(frame.seconds, 1e-3);
  frame.lowest = std::min(0.9, std::floor(frame.lowest * 10) / 10);
  std::string svg = svg_begin(kLeft + kWidth + 24, kTop + kHeight + 48);
  svg += axes(frame);
  svg += fmt::format(
      "<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke='#888' stroke-dasharray='4 4'/>\n", kLeft,
      kLeft + kWidth, frame.y(accuracy), frame.y(accuracy));
  for (std::size_t i = 0; i < runs.size(); ++i) svg += line_of(runs[i], frame, accuracy, i);
  return svg + "</svg>\n";
}

}  // namespace starling::cli
