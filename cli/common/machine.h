// Facts about the machine and the build that the program can report.
#pragma once

#include <cstddef>
#include <string>

#include "starling/core/cpu.h"

namespace starling::cli {

// "1 core", "2 cores"
std::string cores_text(int cores);

// Bytes that the system could give to new processes; "no limit" if unknown.
std::size_t available_memory();

// How this program was called.
std::string own_command_line();

}  // namespace starling::cli
