#include "cli/simulate/simulate_checks.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/record/span.h"

namespace starling::cli {
namespace {

template <class Value>
void refuse(const Given<Value>& value, std::string_view flag, bool useless, std::string_view why) {
  if (value && useless) throw InvalidArgument(concat(flag, ": '", value.text(), "'; ", why));
}

}  // namespace

void check_use(const SimulateFlags& flags) {
  const std::string& workload = flags.workload;
  const bool replay = workload.starts_with("replay:");
  refuse(flags.params, "--params", replay || workload == "mlp",
         concat("workload ", workload, " has a size of its own; allowed with quadratic, logistic"));
  refuse(flags.noise, "--noise", workload != "quadratic",
         concat("workload ", workload, " has none; allowed with quadratic"));
  refuse(flags.data_seed, "--data-seed", replay, concat("workload ", workload, " has no data"));
  refuse(flags.step_time, "--step-time", replay, concat("workload ", workload, " has times of its own"));
  refuse(flags.seed, "--seed", static_cast<bool>(flags.seeds), "allowed: either --seed or --seeds");
  if (flags.force && !flags.out) throw InvalidArgument("--force needs --out, whose files it replaces");
}

std::optional<double> known_steps(const sim::Simulation& simulation) {
  if (simulation.until < Time(kForever) || simulation.stop_at_target) return {};
  return static_cast<double>(simulation.steps) * static_cast<double>(simulation.cluster.workers.size());
}

double least_spans(const sim::Simulation& simulation) {
  if (simulation.record.mode != record::RecordMode::kFull) return 0;
  const std::size_t workers = simulation.cluster.workers.size();
  const auto kept = static_cast<double>(record::span_limit(simulation.record, workers)) / 2;
  return std::min(known_steps(simulation).value_or(0), kept * static_cast<double>(workers));
}

void check_memory(const sim::Simulation& simulation, std::size_t parameters, std::size_t memory) {
  const std::size_t workers = simulation.cluster.workers.size();
  const auto available = static_cast<double>(memory);
  // A worker has a model and a gradient.
  const double models = 2.0 * sizeof(float) * static_cast<double>(workers) * static_cast<double>(parameters);
  if (models > available) {
    throw InvalidArgument(concat("--params: ", parameters, " on each of ", workers, " workers need at least ",
                                 static_cast<std::uint64_t>(models) >> 20, " MiB of memory, and ",
                                 memory >> 20, " are available"));
  }
  const double notes = sizeof(record::Span) * least_spans(simulation);
  if (notes > available) {
    throw InvalidArgument(concat("--record: ", record::text_of(simulation.record), " with ", simulation.steps,
                                 " steps of each of ", workers, " workers needs at least ",
                                 static_cast<std::uint64_t>(notes) >> 20, " MiB of memory, and ",
                                 memory >> 20, " are available; allowed: summary, off, a smaller limit"));
  }
}

void check_targets(const sim::Simulation& simulation, const std::string& workload) {
  const bool any = simulation.target_loss || simulation.target_accuracy;
  if (simulation.stop_at_target && !any) {
    throw InvalidArgument("--stop-at-target needs --target-loss or --target-accuracy");
  }
  if (any && simulation.workload->ghost()) {
    throw InvalidArgument(concat("--target-", simulation.target_loss ? "loss" : "accuracy", ": workload ",
                                 workload,
                                 " has times and sizes only; allowed with quadratic, logistic, mlp"));
  }
  if (!simulation.target_accuracy) return;
  const std::vector<float> zeros(simulation.workload->parameters());
  if (!simulation.workload->evaluate(zeros).accuracy) {
    throw InvalidArgument(
        concat("--target-accuracy: workload ", workload, " has no accuracy; allowed with logistic, mlp"));
  }
}

}  // namespace starling::cli
