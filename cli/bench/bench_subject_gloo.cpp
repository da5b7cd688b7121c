#include <chrono>
#include <cstdlib>
#include <filesystem>

#include "cli/bench/bench_subjects.h"
#include "cli/common/captured_process.h"
#include "cli/common/find_program.h"

namespace starling::cli {
namespace {

constexpr const char* kCheck =
    "import torch, torch.distributed as d, sys; "
    "sys.exit(0 if d.is_available() and d.is_gloo_available() else 'PyTorch was built without Gloo')";

// In the order in which they are tried.
std::vector<std::string> candidates() {
  const char* const chosen = std::getenv("STARLING_PYTHON");
  if (chosen != nullptr && *chosen != '\0') return {chosen};
  const std::filesystem::path beside_build = std::filesystem::path(own_folder()).parent_path();
  return {".venv/bin/python", beside_build / ".venv/bin/python", "python3"};
}

}  // namespace

Availability find_gloo() {
  const std::optional<std::string> peer = find_own_file("gloo_peer.py");
  if (!peer) return {false, "no gloo_peer.py beside this program", {}};
  std::vector<std::string> reasons;
  for (const std::string& name : candidates()) {
    const std::optional<std::string> python = find_program(name);
    if (!python) {
      reasons.push_back(concat(name, ": not there"));
    } else if (const auto why = failure_of({*python, "-c", kCheck}, std::chrono::seconds(60))) {
      reasons.push_back(concat(*python, ": ", *why));
    } else {
      return {true, concat("PyTorch of ", *python), {*python, *peer}};
    }
  }
  return {false,
          concat("no Python with PyTorch (", join_texts(reasons, "; "), "; STARLING_PYTHON names another)"),
          {}};
}

std::unique_ptr<BenchSubject> start_gloo(int ranks, const Availability& found) {
  return std::make_unique<BenchSubject>("gloo", ranks, [&](const std::string& address) {
    std::vector<std::string> command = found.command;
    command.push_back(address);
    command.push_back(std::to_string(ranks));
    return std::make_unique<CapturedProcess>(command, CapturedProcess::Options{});
  });
}

}  // namespace starling::cli
