// Ripples on clusters of any kind: no worker waits forever, whichever is slow, pauses or dies.
#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/strategy/ripples_cases.h"

namespace starling::strategy {
namespace {

class RipplesOn : public ::testing::TestWithParam<const char*> {};

INSTANTIATE_TEST_SUITE_P(Policies, RipplesOn, ::testing::ValuesIn(kPolicies),
                         [](const auto& which) { return std::string(which.param); });

// Seconds that all workers computed, one after the other.
double computing(const record::RunRecord& run) {
  double seconds = 0;
  for (const record::RankRecord& record : run.ranks) seconds += seconds_of(record.journal.computing);
  return seconds;
}

// A deadlock throws with the list of waits. At any time a worker computes, or a transfer or a window of
// groups=ready is in progress, so the run takes no longer than all of these one after the other. A worker's
// synchronisation transfers in at most a few groups, a millisecond each.
TEST_P(RipplesOn, TwoThousandFiveHundredClustersMakeAllTheirSteps) {
  for (std::uint64_t seed = 1; seed <= 2500; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    sim::Simulation simulation = random_simulation(GetParam(), seed);
    Random random(seed + 1'000'000);
    add_pauses(simulation.cluster, random);
    const record::RunRecord run = sim::simulate(simulation);
    for (const record::RankRecord& record : run.ranks) {
      ASSERT_EQ(record.ended, "");
      ASSERT_EQ(record.journal.steps, simulation.steps) << "rank " << record.rank;
    }
    const auto synchronisations = static_cast<double>(simulation.steps * run.ranks.size());
    const double others = synchronisations * (0.05 + 0.01);
    EXPECT_LE(seconds_of(run.duration), computing(run) + others);
  }
}

// Kills some workers, not all, and maybe two of them shortly after one another.
std::vector<bool> add_deaths(cluster::Cluster& cluster, Duration whole, Random& random) {
  const int workers = static_cast<int>(cluster.workers.size());
  std::vector<bool> dies(cluster.workers.size());
  Duration when{};
  for (int deaths = random.between(1, std::min(3, workers - 1)); deaths > 0; --deaths) {
    const Rank victim = random.chance(0.3) ? 0 : random.between(0, workers - 1);
    if (when > Duration(0) && random.chance(0.5)) {
      when += std::chrono::microseconds(random.between(0, 500));
    } else {
      when = Duration(static_cast<Duration::rep>(random.uniform() * static_cast<double>(whole.count())));
    }
    if (dies[static_cast<std::size_t>(victim)]) continue;
    dies[static_cast<std::size_t>(victim)] = true;
    cluster.faults.push_back({.kind = cluster::Fault::Kind::kKill, .subject = victim, .from = Time(when)});
  }
  return dies;
}

double loss_of_mean(const sim::Workload& workload, const testing::Models& models) {
  std::vector<float> mean(workload.parameters());
  for (const auto& model : models) {
    for (std::size_t i = 0; i < mean.size(); ++i) mean[i] += model[i] / static_cast<float>(models.size());
  }
  return workload.evaluate(mean).loss;
}

TEST_P(RipplesOn, TheOthersGoOnAndLearnWhoeverDiesWhenever) {
  for (std::uint64_t seed = 1; seed <= 2500; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    sim::Simulation simulation = random_simulation(GetParam(), seed);
    simulation.steps += 4;
    Random random(seed + 2'000'000);
    if (random.chance(0.5)) randomize_links(simulation.cluster, random);
    const Duration whole = sim::simulate(simulation).duration;
    const std::vector<bool> dies = add_deaths(simulation.cluster, whole, random);
    const testing::Outcome outcome = testing::run_to_end(simulation);
    testing::Models survivors;
    for (std::size_t rank = 0; rank < dies.size(); ++rank) {
      if (dies[rank]) continue;
      ASSERT_EQ(outcome.run.ranks[rank].ended, "");
      ASSERT_EQ(outcome.run.ranks[rank].journal.steps, simulation.steps) << "rank " << rank;
      survivors.push_back(outcome.models[rank]);
    }
    const std::vector<float> start(simulation.workload->parameters());
    const double before = simulation.workload->evaluate(start).loss;
    const double after = loss_of_mean(*simulation.workload, survivors);
    EXPECT_TRUE(std::isfinite(after) && after < before) << after << " after " << before;
    // To agree on who is left takes messages, which may have to wait behind models on slow links.
    EXPECT_LE(outcome.run.duration, 3 * whole + std::chrono::seconds(1));
  }
}

}  // namespace
}  // namespace starling::strategy
