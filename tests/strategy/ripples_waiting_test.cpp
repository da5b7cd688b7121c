// How long fast workers wait because one of them is slow.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/record/wait_analysis.h"
#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

constexpr double kStep = 0.1;  // seconds, of a fast worker
constexpr std::uint64_t kWaitingSteps = 100;
constexpr Rank kSlow = 7;
// Notes and averages of a synchronisation.
constexpr double kTransfers = 0.002 * kWaitingSteps;

double sum(const std::vector<double>& values) { return std::accumulate(values.begin(), values.end(), 0.0); }

// Seven fast workers and a slow one, two on a host; seconds that the fast ones waited, in ascending order.
struct Waiting {
  std::vector<double> for_the_slow;
  std::vector<double> in_total;
  double slow_sections = 0;  // while the fast ones trained
};

Waiting waiting(const OptionTexts& options, double slow_step) {
  sim::Simulation simulation = testing::simulation_of("ripples", options, kSlow + 1);
  simulation.steps = kWaitingSteps;
  simulation.cluster.workers.back().speed = kStep / slow_step;
  for (std::size_t rank = 0; rank <= kSlow; ++rank) {
    simulation.cluster.workers[rank].host = static_cast<int>(rank / 2);
  }
  const record::RunRecord run = sim::simulate(simulation);
  const record::WaitAnalysis waits = record::analyse_waits(run);
  Waiting found;
  Time last{};
  for (std::size_t rank = 0; rank < kSlow; ++rank) {
    last = std::max(last, run.ranks[rank].end);
    found.in_total.push_back(seconds_of(waits.ranks[rank].waiting));
    found.for_the_slow.push_back(0);
    for (const record::WaitedFor& waited : waits.ranks[rank].waited_for) {
      if (waited.whom == kSlow) found.for_the_slow.back() = seconds_of(waited.time);
    }
  }
  std::sort(found.for_the_slow.begin(), found.for_the_slow.end());
  std::sort(found.in_total.begin(), found.in_total.end());
  found.slow_sections = std::ceil(seconds_of(last.time_since_epoch()) / slow_step);
  return found;
}

const std::vector<double> kSlowSteps{0.5, 0.43, 0.517, 0.55, 0.61};

const std::vector<OptionTexts> kFiltered{{{"division", "global"}, {"group-size", "3"}},
                                         {{"division", "hosts"}, {"group-size", "3"}},
                                         {{"division", "global"}, {"group-size", "2"}}};

const std::vector<OptionTexts> kUnfiltered{
    {{"division", "global"}, {"group-size", "3"}, {"threshold", "1000000"}, {"lateness", "0"}},
    {{"division", "hosts"}, {"group-size", "3"}, {"threshold", "1000000"}, {"lateness", "0"}},
    {{"groups", "random"}},
    {{"groups", "static"}},
    {{"groups", "static"}, {"group-size", "2"}}};

const std::vector<OptionTexts> kReady{{{"groups", "ready"}, {"group-size", "2"}},
                                      {{"groups", "ready"}, {"group-size", "3"}},
                                      {{"groups", "ready"}, {"group-size", "4"}}};

// The bound: the slow one's first section, of which nothing is known when it is invited; then it is invited
// at most once in each of its sections, when it is due within a section of the fast one.
TEST(RipplesWaiting, WithTheFilterNoMoreThanTheFirstSectionAndALittle) {
  for (const double slow_step : kSlowSteps) {
    for (const OptionTexts& options : kFiltered) {
      const Waiting found = waiting(options, slow_step);
      EXPECT_LE(found.for_the_slow.back(), slow_step - kStep + found.slow_sections * kStep + kTransfers);
      // The same for any other invited worker: each synchronisation waits for one that is due within a
      // section.
      EXPECT_LE(found.in_total.back(), slow_step - kStep + kWaitingSteps * kStep + kTransfers);
    }
  }
}

// A group waits for a window. Beyond that only the guard against isolated groups holds somebody, those who
// are few; whoever comes next ends that, at the latest the slow one.
TEST(RipplesWaiting, WhoIsReadyDoesNotWaitForOneThatComputes) {
  constexpr double kWindow = 0.005;
  for (const double slow_step : kSlowSteps) {
    for (const OptionTexts& options : kReady) {
      const Waiting found = waiting(options, slow_step);
      EXPECT_LE(found.for_the_slow.back(), kWaitingSteps * kWindow + slow_step + kTransfers);
    }
  }
}

// Many times as long, as a sum over the fast workers.
TEST(RipplesWaiting, WithoutTheFilterTheyWaitForTheSlowOneAgainAndAgain) {
  for (const double slow_step : kSlowSteps) {
    double most_filtered = 0;
    for (const auto* variants : {&kFiltered, &kReady}) {
      for (const OptionTexts& options : *variants) {
        most_filtered = std::max(most_filtered, sum(waiting(options, slow_step).in_total));
      }
    }
    for (const OptionTexts& options : kUnfiltered) {
      EXPECT_GT(sum(waiting(options, slow_step).in_total), 4 * most_filtered);
    }
  }
}

}  // namespace
}  // namespace starling::strategy
