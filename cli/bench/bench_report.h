// The results of a benchmark as JSON.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace starling::cli {

// A name that cannot be written is found out before the measurement, not after it: InvalidArgument.
void check_report(const std::string& file);

// The results with the machine, the command and what could not be measured. To a file, or to standard output
// if its name is "-"; without a name nothing is written.
void write_report(const std::string& file, const nlohmann::ordered_json& missing,
                  const nlohmann::ordered_json& results);

}  // namespace starling::cli
