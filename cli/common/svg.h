// Parts of pictures.
#pragma once

#include <string>

namespace starling::cli {

// The begin of a white picture. It ends with "</svg>\n".
std::string svg_begin(double width, double height);

// A text for XML.
std::string svg_escaped(const std::string& text);

// Colours that can be told apart, over and over.
const char* svg_colour(std::size_t index);

}  // namespace starling::cli
