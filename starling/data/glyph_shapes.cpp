#include "starling/data/glyph_shapes.h"

#include <array>

namespace starling::data {
namespace {

constexpr Line kStraight = Line::kStraight;
constexpr Line kCurved = Line::kCurved;

using Shapes = std::vector<Shape>;

Shapes zeros() {
  return {{{{0, -1}, {.45, -.7}, {.58, 0}, {.45, .7}, {0, 1}, {-.45, .7}, {-.58, 0}, {-.45, -.7}},
           {{kCurved, {0, 1, 2, 3, 4, 5, 6, 7, 0}}}}};
}

Shapes ones() {
  const Shape bar{{{.05, -1}, {-.05, 1}}, {{kStraight, {0, 1}}}};
  const Shape flag{{{-.4, -.55}, {.05, -1}, {.05, 1}}, {{kStraight, {0, 1, 2}}}};
  const Shape foot{{{-.35, -.6}, {0, -1}, {0, 1}, {-.4, 1}, {.4, 1}},
                   {{kStraight, {0, 1, 2}}, {kStraight, {3, 2, 4}}}};
  return {bar, flag, foot};
}

Shapes twos() {
  const Shape sharp{
      {{-.5, -.55}, {-.25, -.93}, {.2, -.98}, {.5, -.65}, {.38, -.2}, {0, .35}, {-.55, 1}, {.58, 1}},
      {{kCurved, {0, 1, 2, 3, 4, 5, 6}}, {kStraight, {6, 7}}}};
  const Shape looped{
      {{-.5, -.7}, {0, -1}, {.45, -.65}, {.2, .1}, {-.3, .75}, {-.55, .8}, {-.3, .6}, {.6, .95}},
      {{kCurved, {0, 1, 2, 3, 4, 5, 6, 7}}}};
  return {sharp, looped};
}

Shapes threes() {
  const Shape round{{{-.5, -.75},
                     {-.05, -1},
                     {.42, -.75},
                     {.35, -.25},
                     {-.1, -.05},
                     {.5, .2},
                     {.55, .65},
                     {.05, 1},
                     {-.55, .75}},
                    {{kCurved, {0, 1, 2, 3, 4}}, {kCurved, {4, 5, 6, 7, 8}}}};
  const Shape flat{{{-.5, -1}, {.5, -1}, {-.05, -.2}, {.5, .1}, {.52, .65}, {0, 1}, {-.55, .75}},
                   {{kStraight, {0, 1, 2}}, {kCurved, {2, 3, 4, 5, 6}}}};
  return {round, flat};
}

Shapes fours() {
  const Shape open{{{-.4, -1}, {-.52, .15}, {.6, .15}, {.35, -.7}, {.28, 1}},
                   {{kStraight, {0, 1, 2}}, {kStraight, {3, 4}}}};
  const Shape closed{{{.28, 1}, {.28, -1}, {-.6, .35}, {.6, .35}}, {{kStraight, {0, 1, 2, 3}}}};
  return {open, closed};
}

Shapes fives() {
  return {{{{.5, -1}, {-.4, -1}, {-.46, -.1}, {.1, -.28}, {.55, .1}, {.48, .7}, {0, 1}, {-.55, .8}},
           {{kStraight, {0, 1, 2}}, {kCurved, {2, 3, 4, 5, 6, 7}}}}};
}

Shapes sixes() {
  return {{{{.45, -.95},
            {-.1, -.65},
            {-.48, 0},
            {-.48, .6},
            {0, 1},
            {.5, .65},
            {.4, .12},
            {-.05, -.02},
            {-.46, .35}},
           {{kCurved, {0, 1, 2, 3, 4, 5, 6, 7, 8}}}}};
}

Shapes sevens() {
  const Shape plain{{{-.55, -1}, {.55, -1}, {-.15, 1}}, {{kStraight, {0, 1, 2}}}};
  const Shape crossed{{{-.55, -1}, {.55, -1}, {.15, 0}, {-.15, 1}, {-.3, 0}, {.5, 0}},
                      {{kStraight, {0, 1, 2, 3}}, {kStraight, {4, 2, 5}}}};
  return {plain, crossed};
}

Shapes eights() {
  return {{{{0, -1},
            {-.45, -.68},
            {-.33, -.28},
            {.35, .2},
            {.5, .62},
            {0, 1},
            {-.5, .62},
            {-.35, .2},
            {.33, -.28},
            {.45, -.68}},
           {{kCurved, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0}}}}};
}

Shapes nines() {
  const std::vector<Point> loop{{.48, -.55},  {.15, -1},    {-.38, -.82},
                                {-.48, -.35}, {-.08, -.02}, {.38, -.22}};
  Shape straight{loop, {{kCurved, {0, 1, 2, 3, 4, 5, 0}}, {kStraight, {0, 6}}}};
  straight.points.push_back({.35, 1});
  Shape hooked{loop, {{kCurved, {0, 1, 2, 3, 4, 5, 0}}, {kCurved, {0, 6, 7, 8}}}};
  for (const Point point : {Point{.5, .35}, {.1, .98}, {-.42, .8}}) hooked.points.push_back(point);
  return {straight, hooked};
}

}  // namespace

const std::vector<Shape>& shapes_of(int digit) {
  static const std::array<Shapes, 10> shapes{zeros(), ones(),  twos(),   threes(), fours(),
                                             fives(), sixes(), sevens(), eights(), nines()};
  return shapes.at(static_cast<std::size_t>(digit));
}

}  // namespace starling::data
