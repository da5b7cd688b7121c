// The shapes of the digits, as few points and the strokes through them.
#pragma once

#include <cstddef>
#include <vector>

namespace starling::data {

// x to the right, y down; a digit reaches from -1 to 1 in y and about -0.6 to 0.6 in x.
struct Point {
  double x = 0;
  double y = 0;
};

enum class Line { kStraight, kCurved };

// Through points of its shape, by index. Strokes that meet share a point, so that they still meet after the
// points were moved. A curved stroke that ends at its first point is round there too.
struct Stroke {
  Line line = Line::kStraight;
  std::vector<std::size_t> through;
};

struct Shape {
  std::vector<Point> points;
  std::vector<Stroke> strokes;
};

// The ways to draw a digit from 0 to 9; at least one.
const std::vector<Shape>& shapes_of(int digit);

}  // namespace starling::data
