#include "starling/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "starling/core/error.h"

namespace starling::optim {
namespace {

using ScheduleKind = Schedule::Kind;

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 3> kScheduleNames = {
    {{ScheduleKind::kConstant, "constant"},
     {ScheduleKind::kStep, "step"},
     {ScheduleKind::kCosine, "cosine"}}};

}  // namespace

double Schedule::at(std::uint64_t step) const {
  if (step <= warmup) return rate * static_cast<double>(step) / static_cast<double>(warmup + 1);
  if (kind == Kind::kConstant || steps == 0) return rate;
  if (kind == Kind::kStep) {
    if (step * 4 > steps * 3) return rate / 100;
    return step * 2 > steps ? rate / 10 : rate;
  }
  const double whole = static_cast<double>(std::max(steps, warmup + 1) - warmup);
  const double done = std::min(1.0, static_cast<double>(step - warmup - 1) / whole);
  return rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

std::string_view name_of(ScheduleKind kind) {
  for (const auto& [known, name] : kScheduleNames) {
    if (known == kind) return name;
  }
  return "?";
}

ScheduleKind parse_schedule(std::string_view text, std::string_view what) {
  std::vector<std::string_view> names;
  for (const auto& [kind, name] : kScheduleNames) {
    if (name == text) return kind;
    names.push_back(name);
  }
  throw InvalidArgument(concat(what, ": unknown schedule '", text, "'; allowed: ", join_texts(names)));
}

}  // namespace starling::optim
