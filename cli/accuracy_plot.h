// The accuracy of runs over time: read from their folders, compared, drawn.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace starling::cli {

struct CurvePoint {
  double seconds = 0;
  double accuracy = 0;
};

struct RunCurve {
  std::string name;  // "allreduce", or the folder's where strategies repeat
  double seconds = 0;
  double samples_per_second = 0;
  std::vector<CurvePoint> points;
};

// InvalidArgument naming the folder if it holds no summary of a run with an accuracy over time.
RunCurve read_curve(const std::filesystem::path& folder);

// When the accuracy was reached for the first time, interpolated linearly between two points.
std::optional<double> seconds_to(const RunCurve& run, double accuracy);

// The highest accuracy that all of them reached, rounded down to whole percents.
double common_accuracy(const std::vector<RunCurve>& runs);

// An SVG picture; a line marks the accuracy.
std::string draw(const std::vector<RunCurve>& runs, double accuracy);

}  // namespace starling::cli
