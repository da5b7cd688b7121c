// A shape's points are moved a little each, then all together by a random linear map; the strokes through
// them become short segments, and a pixel's ink follows from its distance to the nearest of them. Only
// additions, multiplications, divisions and square roots, which every machine rounds alike: the turn is drawn
// as the tangent of its half, which gives sine and cosine without either function.
#include "starling/data/glyphs.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "starling/core/random.h"
#include "starling/data/glyph_shapes.h"

namespace starling::data {
namespace {

constexpr int kGlyphSide = 28;
constexpr int kDigits = 10;
constexpr std::size_t kPixels = kGlyphSide * kGlyphSide;
constexpr int kPiecesOfCurve = 4;  // between two points; a piece is about a pixel long

double draw(Random& random, double lowest, double highest) {
  return lowest + (highest - lowest) * random.uniform();
}

// From a shape's coordinates to pixels.
struct Placement {
  double xx, xy, yx, yy;
  Point centre;

  explicit Placement(Random& random) {
    constexpr double kMostTurn = 0.194;  // the tangent of 11 degrees: the half of 22
    const double half = draw(random, -kMostTurn, kMostTurn);
    const double cosine = (1 - half * half) / (1 + half * half), sine = 2 * half / (1 + half * half);
    const double height = draw(random, 7.5, 9.5), width = height * draw(random, 0.8, 1.15);
    const double shear = draw(random, -0.25, 0.25) * height;
    xx = cosine * width;
    xy = cosine * shear - sine * height;
    yx = sine * width;
    yy = sine * shear + cosine * height;
    centre.x = kGlyphSide / 2. + draw(random, -2.2, 2.2);
    centre.y = kGlyphSide / 2. + draw(random, -2.2, 2.2);
  }

  Point operator()(Point p) const { return {centre.x + xx * p.x + xy * p.y, centre.y + yx * p.x + yy * p.y}; }
};

// How much of each pixel is covered, from 0 to 1.
class Canvas {
 public:
  using Covers = std::array<std::array<double, kGlyphSide>, kGlyphSide>;

  explicit Canvas(double radius) : radius_(radius) {}

  void draw_segment(Point from, Point to) {
    const double reach = radius_ + 0.5;
    const double dx = to.x - from.x, dy = to.y - from.y;
    const double square = dx * dx + dy * dy;
    const int left = pixel(std::min(from.x, to.x) - reach), right = pixel(std::max(from.x, to.x) + reach);
    const int top = pixel(std::min(from.y, to.y) - reach), bottom = pixel(std::max(from.y, to.y) + reach);
    for (int row = top; row <= bottom; ++row) {
      for (int column = left; column <= right; ++column) {
        const double x = column + 0.5 - from.x, y = row + 0.5 - from.y;
        const double along = square > 0 ? std::clamp((x * dx + y * dy) / square, 0., 1.) : 0;
        const double across_x = x - along * dx, across_y = y - along * dy;
        const double distance = std::sqrt(across_x * across_x + across_y * across_y);
        double& cover = covers_[static_cast<std::size_t>(row)][static_cast<std::size_t>(column)];
        cover = std::max(cover, std::min(1., reach - distance));
      }
    }
  }

  const Covers& covers() const { return covers_; }

 private:
  static int pixel(double at) { return std::clamp(static_cast<int>(at), 0, kGlyphSide - 1); }

  double radius_;
  Covers covers_{};
};

// Between `b` and `c`, at t from 0 to 1: Catmull and Rom's cubic through the four.
Point between(Point a, Point b, Point c, Point d, double t) {
  const auto cubic = [t](double p, double q, double r, double s) {
    return 0.5 * (2 * q + t * (r - p + t * (2 * p - 5 * q + 4 * r - s + t * (3 * (q - r) + s - p))));
  };
  return {cubic(a.x, b.x, c.x, d.x), cubic(a.y, b.y, c.y, d.y)};
}

void draw_curve(Canvas& canvas, const std::vector<Point>& points, const std::vector<std::size_t>& through) {
  const std::size_t last = through.size() - 1;
  const bool closed = through.front() == through.back();
  for (std::size_t i = 0; i < last; ++i) {
    const Point b = points[through[i]], c = points[through[i + 1]];
    const Point a = i > 0 ? points[through[i - 1]] : closed ? points[through[last - 1]] : b;
    const Point d = i + 1 < last ? points[through[i + 2]] : closed ? points[through[1]] : c;
    Point from = b;
    for (int piece = 1; piece <= kPiecesOfCurve; ++piece) {
      const Point to = between(a, b, c, d, static_cast<double>(piece) / kPiecesOfCurve);
      canvas.draw_segment(from, to);
      from = to;
    }
  }
}

Canvas draw_digit(int digit, Random& random) {
  constexpr double kWobble = 0.13;
  const std::vector<Shape>& shapes = shapes_of(digit);
  const Shape& shape = shapes[static_cast<std::size_t>(random.below(shapes.size()))];
  const Placement place(random);
  std::vector<Point> points;
  for (const Point point : shape.points) {
    const double dx = draw(random, -kWobble, kWobble), dy = draw(random, -kWobble, kWobble);
    points.push_back(place({point.x + dx, point.y + dy}));
  }
  Canvas canvas(draw(random, 0.5, 1.6));
  for (const Stroke& stroke : shape.strokes) {
    if (stroke.line == Line::kCurved) {
      draw_curve(canvas, points, stroke.through);
      continue;
    }
    for (std::size_t i = 1; i < stroke.through.size(); ++i) {
      canvas.draw_segment(points[stroke.through[i - 1]], points[stroke.through[i]]);
    }
  }
  return canvas;
}

// Nearly normal, mean 0, variance 1: four uniform numbers from one draw.
double noise(Random& random) {
  constexpr double kMean = 2 * 65535.;
  constexpr double kDeviation = 37837.2;  // 65536 / sqrt(3)
  const std::uint64_t bits = random.next();
  const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<double>(sum) - kMean) * (1 / kDeviation);
}

void draw_picture(int digit, Random random, std::uint8_t* pixels) {
  const Canvas canvas = draw_digit(digit, random);
  const double paper = draw(random, 0, 60), ink = paper + draw(random, 70, 180);
  const double grain = draw(random, 5, 40);
  for (const auto& row : canvas.covers()) {
    for (const double cover : row) {
      const double value = paper + (ink - paper) * cover + grain * noise(random);
      *pixels++ = static_cast<std::uint8_t>(std::lround(std::clamp(value, 0., 255.)));
    }
  }
}

Images make_glyphs(const Random& random, std::size_t count) {
  const Random labels = random.fork(0), pictures = random.fork(1);
  Images images;
  images.height = images.width = kGlyphSide;
  images.classes = kDigits;
  images.pixels.resize(count * kPixels);
  images.labels.resize(count);
  std::vector<int> ten(kDigits);
  for (std::size_t i = 0; i < count; ++i) {
    if (i % kDigits == 0) {
      std::iota(ten.begin(), ten.end(), 0);
      labels.fork(i).shuffle(ten);
    }
    const int digit = ten[i % kDigits];
    images.labels[i] = static_cast<std::uint8_t>(digit);
    draw_picture(digit, pictures.fork(i), images.pixels.data() + i * kPixels);
  }
  return images;
}

}  // namespace

ImageSet make_glyphs(const GlyphSetting& setting) {
  const Random random(setting.seed);
  return {make_glyphs(random.fork(0), setting.train), make_glyphs(random.fork(1), setting.test)};
}

}  // namespace starling::data
