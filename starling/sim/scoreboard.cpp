#include "starling/sim/scoreboard.h"

#include <algorithm>
#include <cmath>

namespace starling::sim {

namespace {

// Root mean square distance of the models from their mean.
double consensus_distance(const Scoreboard::Models& models, std::span<const float> mean) {
  double sum = 0;
  for (const std::span<const float> model : models) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      const double difference = static_cast<double>(model[i]) - static_cast<double>(mean[i]);
      sum += difference * difference;
    }
  }
  return std::sqrt(sum / static_cast<double>(std::max<std::size_t>(models.size(), 1)));
}

}  // namespace

bool Scoreboard::count_step() {
  ++steps_;
  const std::uint64_t interval = simulation_.evaluate_every * simulation_.cluster.workers.size();
  return steps_ % interval == 0 && !simulation_.workload->ghost();
}

void Scoreboard::evaluate(Time now, const Models& models) {
  const Evaluation found = simulation_.workload->evaluate(mean_of(models));
  const record::LossPoint point{now, steps_, found.loss, found.accuracy};
  losses_.add(point);
  if (simulation_.observer != nullptr) simulation_.observer->evaluated(point);
  const bool low = simulation_.target_loss && found.loss <= *simulation_.target_loss;
  const bool good =
      simulation_.target_accuracy && found.accuracy && *found.accuracy >= *simulation_.target_accuracy;
  if (time_to_target_ || (!low && !good)) return;
  time_to_target_ = now.time_since_epoch();
  stop_ = simulation_.stop_at_target;
}

void Scoreboard::finish(const Models& models, record::RunRecord& run) {
  run.has_target = simulation_.target_loss || simulation_.target_accuracy;
  run.time_to_target = time_to_target_;
  run.losses = losses_.take();
  run.diverged = losses_.diverged();
  if (simulation_.workload->ghost()) return;
  const std::vector<float> mean = mean_of(models);
  const Evaluation last = simulation_.workload->evaluate(mean);
  run.final_train_loss = last.loss;
  run.final_accuracy = last.accuracy;
  run.consensus_distance = consensus_distance(models, mean);
}

std::vector<float> Scoreboard::mean_of(const Models& models) const {
  std::vector<double> sum(simulation_.workload->parameters());
  for (const std::span<const float> model : models) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += static_cast<double>(model[i]);
  }
  const auto count = static_cast<double>(std::max<std::size_t>(models.size(), 1));
  std::vector<float> mean(sum.size());
  for (std::size_t i = 0; i < sum.size(); ++i) mean[i] = static_cast<float>(sum[i] / count);
  return mean;
}

}  // namespace starling::sim
