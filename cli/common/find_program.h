// Programs that this one starts, and where they are.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling::cli {

// The folder of the running program.
std::string own_folder();

// Looks in PATH, or takes the name as it is if it contains a slash.
std::optional<std::string> find_program(std::string_view name);

// A file that belongs to this program: beside it, as in a build folder, or in ../libexec/starling.
std::optional<std::string> find_own_file(std::string_view name);

// Runs a program to its end. Nothing if it succeeded, else its last line or what went wrong.
std::optional<std::string> failure_of(const std::vector<std::string>& arguments, Duration patience);

}  // namespace starling::cli
