// What the program can tell about where and how it runs.
#pragma once

#include <string>

#include "starling/core/cpu.h"

namespace starling::cli {

// "1 core", "2 cores"
std::string cores_text(int cores);

// How this program was called.
std::string own_command_line();

}  // namespace starling::cli
