#include "cli/bench/bench_report.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <cerrno>
#include <cstring>
#include <ctime>
#include <fstream>

#include "cli/common/machine.h"
#include "starling/core/cpu.h"
#include "starling/core/error.h"

namespace starling::cli {

void check_report(const std::string& file) {
  if (file.empty() || file == "-") return;
  if (!std::ofstream(file, std::ios::app)) {
    throw InvalidArgument(concat("--json: '", file, "' cannot be written: ", std::strerror(errno)));
  }
}

void write_report(const std::string& file, const nlohmann::ordered_json& missing,
                  const nlohmann::ordered_json& results) {
  if (file.empty()) return;
  nlohmann::ordered_json json;
  json["machine"] = {{"cpu", cpu_name()},
                     {"cores", usable_cores()},
                     {"date", fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)))}};
  json["command"] = own_command_line();
  json["missing"] = missing;
  json["results"] = results;
  const std::string text = json.dump(2) + "\n";
  if (file == "-") {
    fmt::print("{}", text);
  } else if (!(std::ofstream(file) << text << std::flush)) {
    throw Error(concat("cannot write ", file));
  }
}

}  // namespace starling::cli
