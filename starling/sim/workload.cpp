#include "starling/sim/workload.h"

#include <array>
#include <cmath>

#include "starling/core/error.h"
#include "starling/sim/logistic.h"
#include "starling/sim/mlp.h"
#include "starling/sim/quadratic.h"
#include "starling/sim/replay.h"

namespace starling::sim {
namespace {

constexpr std::size_t kMostParameters = 1'000'000'000;
constexpr std::size_t kLargestBatch = 1'000'000;
constexpr std::string_view kReplay = "replay:";

using Made = std::unique_ptr<Workload>;

template <class Type>
Made make(const WorkloadSetting& setting) {
  return std::make_unique<Type>(setting);
}

struct WorkloadEntry {
  std::string_view name;
  Made (*make)(const WorkloadSetting&);
};

constexpr std::array kRows = {WorkloadEntry{"quadratic", make<Quadratic>},
                              WorkloadEntry{"logistic", make<Logistic>}, WorkloadEntry{"mlp", make<Mlp>}};

// Negated comparisons, so that NaN fails too.
void check(const WorkloadSetting& setting, std::string_view what) {
  if (setting.workers < 1) {
    throw InvalidArgument(concat(what, ": workers is ", setting.workers, "; allowed: 1 and more"));
  }
  if (setting.parameters < 1 || setting.parameters > kMostParameters) {
    throw InvalidArgument(
        concat(what, ": parameters is ", setting.parameters, "; allowed: 1 to ", kMostParameters));
  }
  if (setting.batch > kLargestBatch) {
    throw InvalidArgument(concat(what, ": batch is ", setting.batch, "; allowed: 1 to ", kLargestBatch,
                                 ", or 0 for the workload's own"));
  }
  if (!(setting.noise >= 0) || !std::isfinite(setting.noise)) {
    throw InvalidArgument(concat(what, ": noise is ", setting.noise, "; allowed: finite, at least 0"));
  }
}

}  // namespace

double StepTimes::total() const {
  double sum = 0;
  for (const double seconds : forward) sum += seconds;
  for (const double seconds : backward) sum += seconds;
  return sum;
}

std::size_t Workload::parameters() const {
  return sections().empty() ? 0 : sections().back().offset + sections().back().count;
}

void Workload::check_sizes(std::size_t x, std::size_t gradient, std::size_t samples) const {
  if (x != parameters() || gradient != parameters()) {
    throw InvalidArgument(
        concat("the model has ", parameters(), " parameters, x has ", x, " and its gradient ", gradient));
  }
  if (samples == 0) throw InvalidArgument("a gradient of 0 samples; there must be at least 1");
}

std::vector<std::string> workload_names() {
  std::vector<std::string> names;
  names.reserve(kRows.size() + replay_models().size());
  for (const WorkloadEntry& row : kRows) names.emplace_back(row.name);
  for (const ReplayModel& model : replay_models()) names.push_back(concat(kReplay, model.name));
  return names;
}

std::unique_ptr<Workload> make_workload(std::string_view text, const WorkloadSetting& setting,
                                        std::string_view what) {
  check(setting, what);
  for (const WorkloadEntry& row : kRows) {
    if (text == row.name) return row.make(setting);
  }
  for (const ReplayModel& model : replay_models()) {
    if (text == concat(kReplay, model.name)) return std::make_unique<Replay>(model, setting.batch);
  }
  throw InvalidArgument(
      concat(what, ": unknown workload '", text, "'; allowed: ", join_texts(workload_names())));
}

}  // namespace starling::sim
