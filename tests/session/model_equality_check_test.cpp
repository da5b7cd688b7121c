#include "starling/session/background/model_equality_check.h"

#include <gtest/gtest.h>
#include <signal.h>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/service_rank.h"
#include "starling/session/session.h"
#include "starling/strategy/registry.h"

namespace starling::session {
namespace {

struct Fault {
  Rank rank = 0;
  std::uint64_t step = 0;
  std::size_t element = 0;
};

struct Death {
  Rank rank = -1;
  std::uint64_t step = 0;
};

// Three workers train four sections of three elements; the faults change a parameter behind the back of the
// strategy.
std::vector<launch::Outcome> train(const std::string& name, std::uint64_t every,
                                   const std::vector<Fault>& faults, const Death& death = {}) {
  constexpr int kWorkers = 3;
  const auto& row = strategy::find_strategy(name);
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, {}), kWorkers);
  const bool own_rank = strategy->service() == strategy::Placement::kOwnRank;
  launch::ForkedRanks ranks(kWorkers + (own_rank ? 1 : 0), [&](transport::Transport& net) {
    Session::Options setting;
    setting.workers = kWorkers;
    setting.sections = {{"a", 0, 3}, {"b", 3, 3}, {"c", 6, 3}, {"d", 9, 3}};
    setting.steps = 20;
    setting.check_sync = every;
    if (net.rank() == kWorkers) return run_service(net, *strategy, setting);
    const std::vector<float> model(12, 1.0F);
    Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, *strategy, setting, model);
    for (std::uint64_t step = 1; session.next(); ++step) {
      if (death.rank == net.rank() && death.step == step) raise(SIGKILL);
      for (std::size_t i = 0; i < model.size(); ++i) session.gradients()[i] = session.parameters()[i];
      for (const Fault& fault : faults) {
        if (fault.rank == net.rank() && fault.step == step) session.parameters()[fault.element] += 1e-3F;
      }
      session.computed({.samples = 1});
    }
  });
  return ranks.wait();
}

TEST(ModelEqualityCheck, EqualModelsPass) {
  for (const char* strategy : {"allreduce", "ps"}) {
    for (const launch::Outcome& outcome : train(strategy, 1, {}))
      EXPECT_TRUE(outcome.good()) << outcome.error;
  }
}

TEST(ModelEqualityCheck, ADifferenceEndsTheRunOnAllRanksWithItsPlace) {
  for (const launch::Outcome& outcome : train("allreduce", 1, {{1, 7, 8}})) {
    EXPECT_EQ(outcome.error, "after step 7 the models differ: section 2 (c) of rank 1 is not that of rank 0");
  }
  for (const launch::Outcome& outcome : train("allreduce", 5, {{2, 7, 7}, {1, 8, 9}, {1, 8, 11}})) {
    EXPECT_EQ(outcome.error,
              "after step 10 the models differ: section 3 (d) of rank 1 is not that of rank 0");
  }
}

TEST(ModelEqualityCheck, GoesOnAfterADeath) {
  for (const Rank dead : {0, 2}) {
    const auto equal = train("allreduce", 1, {}, {dead, 5});
    const auto different = train("allreduce", 1, {{1, 9, 4}}, {dead, 5});
    for (Rank rank = 0; rank < 3; ++rank) {
      if (rank == dead) continue;
      const auto index = static_cast<std::size_t>(rank);
      EXPECT_TRUE(equal[index].good()) << equal[index].error;
      const Rank named = dead == 0 ? 2 : 1;
      const Rank lowest = dead == 0 ? 1 : 0;
      EXPECT_EQ(different[index].error, concat("after step 9 the models differ: section 1 (b) of rank ",
                                               named, " is not that of rank ", lowest));
    }
  }
}

TEST(ModelEqualityCheck, IsMadeOnlyAtItsSteps) {
  for (const launch::Outcome& outcome : train("allreduce", 0, {{1, 7, 8}})) EXPECT_TRUE(outcome.good());
  for (const launch::Outcome& outcome : train("allreduce", 30, {{1, 7, 8}})) EXPECT_TRUE(outcome.good());
}

}  // namespace
}  // namespace starling::session
