#include "cli/common/find_program.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "cli/common/captured_process.h"
#include "starling/core/text.h"

namespace starling::cli {
namespace {

namespace fs = std::filesystem;

bool is_program(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) && access(path.c_str(), X_OK) == 0;
}

}  // namespace

std::string own_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  return error ? "." : program.parent_path().string();
}

std::optional<std::string> find_program(std::string_view name) {
  if (name.find('/') != std::string_view::npos) {
    return is_program(name) ? std::optional<std::string>(name) : std::nullopt;
  }
  const char* const path = std::getenv("PATH");
  for (const std::string& folder : split(path == nullptr ? "" : path, ':')) {
    const fs::path candidate = fs::path(folder) / name;
    if (is_program(candidate)) return candidate.string();
  }
  return std::nullopt;
}

std::optional<std::string> find_own_file(std::string_view name) {
  const fs::path here = own_folder();
  for (const fs::path& folder : {here, here.parent_path() / "libexec" / "starling"}) {
    std::error_code ignored;
    if (fs::is_regular_file(folder / name, ignored)) return (folder / name).string();
  }
  return std::nullopt;
}

std::optional<std::string> failure_of(const std::vector<std::string>& arguments, Duration patience) {
  CapturedProcess child(arguments, CapturedProcess::Options{});
  if (!child.wait(patience)) return concat("it did not answer within ", format_duration(patience));
  if (child.exit_code() == 0) return std::nullopt;
  return child.last_words();
}

}  // namespace starling::cli
