#include "cli/common/svg.h"

#include <fmt/format.h>

#include <iterator>

namespace starling::cli {

namespace {

constexpr const char* kColours[] = {"#9a3b26", "#1b6ca8", "#3d8b40", "#7a4fa3", "#b8860b", "#444444"};

}  // namespace

std::string svg_begin(double width, double height) {
  return fmt::format(
      "<svg xmlns='http://www.w3.org/2000/svg' width='{:.0f}' height='{:.0f}' font-family='sans-serif' "
      "font-size='12'>\n"
      "<rect width='100%' height='100%' fill='white'/>\n",
      width, height);
}

std::string svg_escaped(const std::string& text) {
  std::string out;
  for (const char c : text)
    out += c == '&' ? "&amp;" : c == '<' ? "&lt;" : c == '>' ? "&gt;" : std::string(1, c);
  return out;
}

const char* svg_colour(std::size_t index) { return kColours[index % std::size(kColours)]; }

}  // namespace starling::cli
