#include "starling/optim/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <utility>
#include <vector>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::optim {
namespace {

using ScheduleKind = Schedule::Kind;

constexpr std::array<std::pair<ScheduleKind, std::string_view>, 4> kScheduleNames = {
    {{ScheduleKind::kConstant, "constant"},
     {ScheduleKind::kStep, "step"},
     {ScheduleKind::kCosine, "cosine"},
     {ScheduleKind::kPolynomial, "polynomial"}}};

constexpr double kMostWarmUpSteps = 1e9;
constexpr double kMostWarmUpEpochs = 1e5;
constexpr std::string_view kEpochs = "epochs";

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
  if (kind == Kind::kPolynomial) return end_rate + (rate - end_rate) * std::pow(1 - done, power);
  return rate * (1 + std::cos(std::numbers::pi * done)) / 2;
}

std::uint64_t WarmUp::length(std::uint64_t epoch_steps) const {
  return steps + static_cast<std::uint64_t>(std::llround(epochs * static_cast<double>(epoch_steps)));
}

WarmUp parse_warmup(std::string_view text, std::string_view what) {
  const std::optional<Quantity> read = read_quantity(text);
  const double number = read ? read->number : -1;
  if (number >= 0 && read->unit == kEpochs && number <= kMostWarmUpEpochs) return {.epochs = number};
  if (number >= 0 && read->unit.empty() && number <= kMostWarmUpSteps && number == std::floor(number)) {
    return {.steps = static_cast<std::uint64_t>(number)};
  }
  throw InvalidArgument(concat(
      what, ": '", text,
      "'; allowed: a number of steps from 0 to 1000000000, or of epochs from 0 to 100000, as in 5epochs"));
}

std::string text_of(const WarmUp& warmup) {
  return warmup.epochs > 0 ? concat(warmup.epochs, kEpochs) : std::to_string(warmup.steps);
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
