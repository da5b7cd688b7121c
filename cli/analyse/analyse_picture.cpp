#include "cli/analyse/analyse_picture.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "cli/common/svg.h"
#include "starling/core/text.h"

namespace starling::cli {

namespace {

constexpr double kPlotLeft = 56, kPlotTop = 40, kPlotWidth = 560, kPlotHeight = 400, kNamesWidth = 300,
                 kNamesLine = 18;

struct WorkersAxis {
  int workers;  // the most

  double x(int n) const {
    return kPlotLeft + (std::log2(n) - 1) / std::max(std::log2(workers) - 1, 1e-9) * kPlotWidth;
  }
};

// What is above the frame is drawn at its upper edge.
constexpr double kMostShare = 1.2;
constexpr int kTicks = 6;

double height_of(double share) {
  return kPlotTop + (1 - std::clamp(share, 0.0, kMostShare) / kMostShare) * kPlotHeight;
}

std::vector<int> numbers_of_workers(int most) {
  std::vector<int> numbers;
  for (int n = 2; n < most; n *= 2) numbers.push_back(n);
  numbers.push_back(most);
  return numbers;
}

std::string axes_of(const WorkersAxis& axis) {
  std::string svg;
  for (const int n : numbers_of_workers(axis.workers)) {
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='middle'>{}</text>\n", axis.x(n),
                       kPlotTop + kPlotHeight + 18, n);
  }
  for (int tick = 0; tick <= kTicks; ++tick) {
    const double share = kMostShare * tick / kTicks, y = height_of(share);
    svg += fmt::format("<line x1='{0:.1f}' x2='{1:.1f}' y1='{2:.1f}' y2='{2:.1f}' stroke='#ddd'/>\n",
                       kPlotLeft, kPlotLeft + kPlotWidth, y);
    svg += fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>{:.1f}</text>\n", kPlotLeft - 6, y + 4,
                       share);
  }
  return svg + fmt::format("<text x='{:.1f}' y='{:.1f}' text-anchor='end'>workers</text>\n",
                           kPlotLeft + kPlotWidth, kPlotTop + kPlotHeight + 36);
}

// The colours repeat, with another dash each time.
std::string style_of(std::size_t row) {
  constexpr const char* kDashes[] = {"none", "7 3", "2 3"};
  constexpr std::size_t kColours = 6;
  return fmt::format("stroke='{}' stroke-dasharray='{}'", svg_colour(row),
                     kDashes[row / kColours % std::size(kDashes)]);
}

struct Point {
  int workers;
  double share;
};

std::string polyline(const WorkersAxis& axis, const std::vector<Point>& points, std::size_t row,
                     double width) {
  std::string places;
  for (const Point& point : points)
    places += fmt::format("{:.1f},{:.1f} ", axis.x(point.workers), height_of(point.share));
  return fmt::format("<polyline points='{}' fill='none' stroke-width='{}' {}/>\n", places, width,
                     style_of(row));
}

std::string name_text(const AnalysisRow& row, std::size_t index) {
  const double y = kPlotTop + 8 + kNamesLine * static_cast<double>(index), x = kPlotLeft + kPlotWidth + 30;
  const std::string bounds = row.times.batches.exact() ? "" : " (bounds)";
  return fmt::format("<line x1='{:.1f}' x2='{:.1f}' y1='{:.1f}' y2='{:.1f}' stroke-width='2' {}/>\n", x,
                     x + 26, y - 4, y - 4, style_of(index)) +
         fmt::format("<text x='{:.1f}' y='{:.1f}'>{}{}</text>\n", x + 34, y, svg_escaped(row.name), bounds);
}

std::string mark(const WorkersAxis& axis, const Interval& share, std::size_t row) {
  const double x = axis.x(axis.workers), low = height_of(share.middle - share.half);
  const double high = height_of(share.middle + share.half);
  return fmt::format("<line x1='{0:.1f}' x2='{0:.1f}' y1='{1:.1f}' y2='{2:.1f}' stroke='{3}'/>\n", x, low,
                     high, svg_colour(row)) +
         fmt::format("<circle cx='{:.1f}' cy='{:.1f}' r='3' fill='{}'/>\n", x, height_of(share.middle),
                     svg_colour(row));
}

struct Curves {
  std::vector<std::vector<Point>> low, high;  // by row
};

Curves curves_of(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows) {
  Curves curves{std::vector<std::vector<Point>>(rows.size()), std::vector<std::vector<Point>>(rows.size())};
  for (const int n : numbers_of_workers(plan.workers())) {
    const std::vector<AnalysisRow> all = n == plan.workers() ? rows : analysis_rows(with_workers(plan, n));
    const double bound = all.back().times.batches.high;
    for (std::size_t row = 0; row < rows.size(); ++row) {
      curves.low[row].push_back({n, all[row].times.batches.low / bound});
      curves.high[row].push_back({n, all[row].times.batches.high / bound});
    }
  }
  return curves;
}

}  // namespace

std::string analysis_picture(const AnalysePlan& plan, const std::vector<AnalysisRow>& rows,
                             const std::vector<SimulatedTimes>& simulated) {
  const WorkersAxis axis{plan.workers()};
  const Curves curves = curves_of(plan, rows);
  std::string svg = svg_begin(kPlotLeft + kPlotWidth + 30 + kNamesWidth, kPlotTop + kPlotHeight + 48);
  svg += axes_of(axis);
  svg += fmt::format(
      "<text x='{:.1f}' y='24' font-weight='bold'>Samples per second, as part of the asynchronous "
      "bound; jitter {}</text>\n",
      kPlotLeft, svg_escaped(text_of(plan.jitter)));
  const double bound = rows.back().times.batches.high * plan.batch;
  for (std::size_t row = 0; row < rows.size(); ++row) {
    const bool exact = rows[row].times.batches.exact();
    svg += polyline(axis, curves.high[row], row, exact ? 2 : 1);
    if (!exact && rows[row].times.batches.low > 0) svg += polyline(axis, curves.low[row], row, 1);
    svg += name_text(rows[row], row);
    if (simulated.empty()) continue;
    const Interval& samples = simulated[row].samples;
    svg += mark(axis, {samples.middle / bound, samples.half / bound}, row);
  }
  return svg + "</svg>\n";
}

}  // namespace starling::cli
