// On real processes, the models of a schedule look like those of allreduce at any time.
#include <gtest/gtest.h>

#include <cmath>

#include "tests/session/section_runs.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::check;
using testing::Job;
using testing::SectionWork;
using testing::small_network;

constexpr std::size_t kLookedSteps = 30;

struct LookedSchedule {
  std::string strategy;
  OptionTexts options;
};

const LookedSchedule kLookedSchedules[] = {
    {"dear", {{"fusion", "256"}, {"edge", "16"}}},
    {"dear", {{"fusion", "256"}, {"edge", "16"}, {"gather", "gradients"}}},
    {"allreduce", {{"schedule", "priority"}, {"fusion", "300"}}}};

Job job_of(const LookedSchedule& which, int workers) {
  sim::Simulation simulation = small_network(which.strategy, which.options, workers);
  simulation.steps = kLookedSteps;
  return Job(simulation);
}

TEST(DearLook, AllModelsAreEqualAfterEveryStep) {
  for (const LookedSchedule& which : kLookedSchedules) {
    const Job job = job_of(which, 3);
    Session::Options setting = job.setting();
    setting.check_sync = 1;
    testing::expect_good(testing::run_ranks(job, setting, [&](transport::Transport& net) {
      SectionWork work(job, net, setting, {});
      work.run();
    }));
  }
}

// A worker that updates everything itself keeps the error in its model.
TEST(DearLook, AModelThatIsNotEqualIsFound) {
  const Job job = job_of({"dear", {{"gather", "gradients"}}}, 3);
  Session::Options setting = job.setting();
  setting.check_sync = 1;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    testing::Manners manners;
    manners.begins = [&](Session& session, std::uint64_t step) {
      session.flush();
      if (net.rank() == 1 && step == 5) session.parameters()[0] += 1;
    };
    SectionWork work(job, net, setting, manners);
    work.run();
  });
  for (const launch::Outcome& outcome : outcomes) {
    EXPECT_EQ(outcome.error.find("after step 5 the models differ: section 0"), 0U) << outcome.error;
  }
}

// The model of allreduce before each step and after the last.
std::vector<std::vector<float>> models_by_step(int workers) {
  const Job job = job_of({"allreduce", {}}, workers);
  Board board((kLookedSteps + 1) * job.elements());
  testing::expect_good(testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
    SectionWork work(job, net, job.setting(), {});
    for (std::size_t step = 0;; ++step) {
      const bool more = work.own.session.next();
      const std::span<const float> x = work.own.session.parameters();
      if (net.rank() == 0) std::copy(x.begin(), x.end(), board.part(step, x.size()).begin());
      if (!more) return;
      work.compute();
    }
  }));
  std::vector<std::vector<float>> models;
  for (std::size_t step = 0; step <= kLookedSteps; ++step) {
    const std::span<const float> model = board.part(step, job.elements());
    models.emplace_back(model.begin(), model.end());
  }
  return models;
}

// Whether it is the mean of the models of two workers that have made so many steps together. A worker alone
// counts as two that do the same.
bool is_mean(const Snapshot& snapshot, const std::vector<std::vector<float>>& models, std::size_t steps) {
  for (std::size_t one = 0; one < models.size(); ++one) {
    const std::size_t other = steps - one;
    if (one > steps || other >= models.size()) continue;
    bool equal = snapshot.model.size() == models[one].size();
    for (std::size_t i = 0; i < snapshot.model.size() && equal; ++i) {
      const float mean = (models[one][i] + models[other][i]) / 2;
      equal = std::abs(snapshot.model[i] - mean) <= 1e-6F * std::abs(mean);
    }
    if (equal) return true;
  }
  return false;
}

TEST(DearLook, SnapshotsAreModelsOfAllReduce) {
  for (const int workers : {1, 2}) {
    const auto models = models_by_step(workers);
    for (const LookedSchedule& which : kLookedSchedules) {
      const Job job = job_of(which, workers);
      Session::Options setting = job.setting();
      setting.snapshot_every = std::chrono::microseconds(100);
      testing::expect_good(testing::run_ranks(job, setting, [&](transport::Transport& net) {
        std::vector<Snapshot> shown;
        Callbacks callbacks;
        callbacks.snapshot = [&](Snapshot snapshot) { shown.push_back(std::move(snapshot)); };
        SectionWork work(job, net, setting, {}, callbacks);
        work.run();
        work.own.session.collect();  // when all is over
        if (net.rank() != 0) return;
        check(shown.size() >= 2 && shown.back().final, "the first and the last, at least");
        for (const Snapshot& snapshot : shown) {
          const std::size_t steps = snapshot.steps * 2 / static_cast<std::size_t>(workers);
          check(is_mean(snapshot, models, steps), concat("the mean model after ", snapshot.steps, " steps"));
        }
      }));
    }
  }
}

// The model that the program sees after flush(), and when the run is over.
TEST(DearLook, FlushedModelsAreThoseOfAllReduce) {
  for (const int workers : {2, 3}) {
    const auto models = models_by_step(workers);
    for (const LookedSchedule& which : kLookedSchedules) {
      const Job job = job_of(which, workers);
      testing::expect_good(testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
        SectionWork work(job, net, job.setting(), {});
        for (std::size_t step = 0;; ++step) {
          const bool more = work.own.session.next();
          work.own.session.flush();
          const std::span<const float> x = work.own.session.parameters();
          check(std::equal(x.begin(), x.end(), models.at(step).begin()),
                concat("the model after step ", step));
          if (!more) return;
          work.compute();
        }
      }));
    }
  }
}

}  // namespace
}  // namespace starling::session
