// A strategy on four real processes, with gradients of your own: linear regression, each worker with its part
// of the data, one of them four times slower. The parameter server waits for no worker (mode=asp).
#include <chrono>
#include <cstdio>
#include <span>
#include <thread>
#include <vector>

#include "starling/starling.h"

using namespace starling;

constexpr int kWorkers = 4, kSteps = 200, kBatch = 8;
constexpr float kTruth[] = {2, -3, 0.5F};

// The mean gradient of (w x - y)^2 / 2 over a batch; returns the loss.
double gradient(std::span<const float> w, std::span<float> g, Random& random) {
  double loss = 0;
  for (float& value : g) value = 0;
  for (int sample = 0; sample < kBatch; ++sample) {
    float x[3], error = 0;
    for (int i = 0; i < 3; ++i) {
      x[i] = static_cast<float>(random.normal());
      error += (w[static_cast<std::size_t>(i)] - kTruth[i]) * x[i];
    }
    for (std::size_t i = 0; i < 3; ++i) g[i] += error * x[i] / kBatch;
    loss += static_cast<double>(error * error) / 2 / kBatch;
  }
  return loss;
}

void train(transport::Transport& net, const strategy::Strategy& strategy) {
  session::Session::Options setting;
  setting.workers = kWorkers;
  setting.optimizer.learning_rate = 0.05;
  setting.sections = {{"w", 0, 3}};
  setting.steps = kSteps;
  if (net.rank() == kWorkers)
    return session::run_service(net, strategy, setting);  // the parameter server's process

  auto& loop = static_cast<runtime::LoopScheduler&>(net.scheduler());
  session::Session session(loop, net, strategy, setting, std::vector<float>(3));
  Random random(static_cast<std::uint64_t>(net.rank()));
  double loss = 0;
  while (session.next()) {
    loss = gradient(session.parameters(), session.gradients(), random);
    std::this_thread::sleep_for(std::chrono::milliseconds(net.rank() == 0 ? 4 : 1));  // stands for work
    session.computed({.samples = kBatch, .loss = loss});
  }
  const auto w = session.parameters();
  std::printf("worker %d: %llu steps, w = %.2f %.2f %.2f\n", net.rank(),
              static_cast<unsigned long long>(session.journal().steps), static_cast<double>(w[0]),
              static_cast<double>(w[1]), static_cast<double>(w[2]));
  if (loss > 0.1) throw Error("it did not learn");
}

int main() {
  const strategy::StrategyEntry& row = strategy::find_strategy("ps");
  const auto strategy =
      row.make(strategy::Options::parse(row.options, row.name, {{"mode", "asp"}}), kWorkers);
  launch::ForkedRanks ranks(kWorkers + 1, [&](transport::Transport& net) { train(net, *strategy); });
  int failures = 0;
  for (const launch::Outcome& outcome : ranks.wait()) failures += outcome.good() ? 0 : 1;
  return failures;
}
