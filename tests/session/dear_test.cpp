// Schedules on real processes whose program computes section by section: the weights of allreduce, whose sums
// in shared memory have the order of the ranks, wherever they are cut.
#include <gtest/gtest.h>

#include "tests/session/section_runs.h"
#include "tests/support/layers.h"
#include "tests/support/refusal.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::always;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::Manners;
using testing::models_after;
using testing::never;
using testing::SectionWork;
using testing::small_network;

struct DearSchedule {
  std::string strategy;
  OptionTexts options;
};

const DearSchedule kDearSchedules[] = {
    {"dear", {{"fusion", "256"}, {"edge", "16"}}},
    {"dear", {{"fusion", "1g"}, {"edge", "1g"}}},
    {"dear", {{"fusion", "600"}, {"edge", "16"}, {"gather", "gradients"}, {"window", "3"}}},
    {"allreduce", {{"schedule", "priority"}, {"fusion", "300"}}}};

// A program that asked for a section in the step before asks for it again, unless it flushes.
Manners changing() {
  Manners manners;
  manners.flushes = [](std::uint64_t step) { return step % 3 == 0; };
  manners.asks = [](Rank rank, std::uint64_t step, std::size_t section) {
    const std::uint64_t phase = step % 3;  // none, some, all
    return phase == 2 || (phase == 1 && (section + static_cast<std::size_t>(rank)) % 2 == 0);
  };
  manners.tells = [](Rank rank, std::uint64_t step, std::size_t section) {
    return (step + section + static_cast<std::size_t>(rank)) % 4 != 0;
  };
  return manners;
}

std::vector<std::pair<std::string, Manners>> all_manners() {
  const testing::Says some = [](Rank rank, std::uint64_t, std::size_t section) {
    return section != static_cast<std::size_t>(rank);
  };
  return {{"all", {}},
          {"none", {.asks = never, .tells = never}},
          {"asks for none", {.asks = never}},
          {"tells of none", {.tells = never}},
          {"some", {.asks = some, .tells = some}},
          {"changing", changing()}};
}

void expect_bits_of_all_reduce(int workers) {
  const std::vector<float> expected = models_after(small_network("allreduce", {}, workers));
  for (const auto& [name, manners] : all_manners()) {
    for (const DearSchedule& schedule : kDearSchedules) {
      SCOPED_TRACE(concat(schedule.strategy, ", ", name));
      EXPECT_EQ(models_after(small_network(schedule.strategy, schedule.options, workers), manners), expected);
    }
  }
}

TEST(DearSession, TwoHaveTheBitsOfAllReduce) { expect_bits_of_all_reduce(2); }
TEST(DearSession, ThreeHaveTheBitsOfAllReduce) { expect_bits_of_all_reduce(3); }
TEST(DearSession, FourHaveTheBitsOfAllReduce) { expect_bits_of_all_reduce(4); }

TEST(DearSession, TheNormIsThatOfTheWholeGradient) {
  for (const char* gather : {"weights", "gradients"}) {
    sim::Simulation simulation = small_network("allreduce", {}, 3);
    simulation.optimizer.clip_norm = 0.05;
    const std::vector<float> expected = models_after(simulation);
    sim::Simulation dear = small_network("dear", {{"gather", gather}, {"fusion", "256"}, {"edge", "16"}}, 3);
    dear.optimizer = simulation.optimizer;
    const std::vector<float> found = models_after(dear);
    for (std::size_t i = 0; i < found.size(); ++i) {
      // Where weights are gathered the norm is summed slice by slice, and may round differently.
      EXPECT_NEAR(found[i], expected[i], gather == std::string("weights") ? 1e-5 : 0) << gather;
    }
  }
}

// 6 MiB: thresholds of less and of more make other buckets.
TEST(DearSession, TuningKeepsTheBits) {
  const auto train = [&](const std::string& strategy, const OptionTexts& options) {
    sim::Simulation large = small_network(strategy, options, 2);
    large.workload = std::make_shared<testing::Layers>(std::vector<std::size_t>(6, 1 << 18));
    large.steps = 20;
    return models_after(large);
  };
  const std::vector<float> expected = train("allreduce", {});
  EXPECT_TRUE(train("dear", {{"fusion", "auto"}, {"edge", "1g"}}) == expected);
}

// One rank has no one to wait for; what it may not do is the same.
template <class Body>
void with_work(const OptionTexts& options, const Body& body) {
  const Job job(small_network("dear", options, 1));
  testing::expect_good(testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
    SectionWork work(job, net, job.setting(), {});
    body(work);
  }));
}

TEST(DearSession, WhatWasAskedForMustBeAskedForAgain) {
  for (const char* gather : {"weights", "gradients"}) {
    with_work({{"gather", gather}}, [](SectionWork& work) {
      Session& session = work.own.session;
      check(session.next(), "a batch is wanted");
      work.compute();
      check(session.next(), "a batch is wanted");
      for (const std::size_t section : {0, 1, 3}) session.use({section, section + 1});
      session.section_ready(3);
      check_equal(testing::error_text([&] { session.section_ready(2); }),
                  "section 2 (output.weight) was asked for before it was used in the last step, and in this "
                  "one not",
                  "the error");
    });
  }
}

// After it every section is as it must be, and none has to be asked for.
TEST(DearSession, FlushIsAsGoodAsAskingForAll) {
  for (const char* gather : {"weights", "gradients"}) {
    with_work({{"gather", gather}}, [](SectionWork& work) {
      Session& session = work.own.session;
      for (int step = 0; step < 4; ++step) {
        check(session.next(), "a batch is wanted");
        session.flush();
        for (std::size_t section = 0; section < 4; ++section) check(session.usable(section), "it is there");
        const std::vector<float> before(session.parameters().begin(), session.parameters().end());
        session.use({0, 4});
        check(std::equal(before.begin(), before.end(), session.parameters().begin()), "nothing has changed");
        for (std::size_t section = 4; section-- > 0;) session.section_ready(section);
        session.computed({.samples = 1, .loss = 1});
      }
    });
  }
}

TEST(DearSession, TheLearningRateMayChangeBetweenSteps) {
  const auto change = [](Session& session, std::uint64_t step) {
    session.set_learning_rate(0.1 / static_cast<double>(step));
  };
  for (const int workers : {2, 3}) {
    Manners plain{.asks = never, .tells = never};
    plain.begins = change;
    const std::vector<float> expected = models_after(small_network("allreduce", {}, workers), plain);
    EXPECT_NE(models_after(small_network("allreduce", {}, workers)), expected);
    for (auto [name, manners] : all_manners()) {
      manners.begins = change;
      for (const DearSchedule& schedule : kDearSchedules) {
        SCOPED_TRACE(concat(schedule.strategy, ", ", name));
        EXPECT_EQ(models_after(small_network(schedule.strategy, schedule.options, workers), manners),
                  expected);
      }
    }
  }
}

TEST(DearSession, TheLearningRateMayNotChangeDuringTheBackwardPass) {
  with_work({}, [](SectionWork& work) {
    Session& session = work.own.session;
    check(session.next(), "a batch is wanted");
    session.use({0, 4});
    session.section_ready(3);
    session.set_learning_rate(0.5);
    testing::check_contains(testing::error_text([&] { session.computed({.samples = 1, .loss = 1}); }),
                            "the learning rate became 0.5 during the backward pass");
  });
}

// An optimiser of the program's own is given whole sections, each once in a step, on the user's thread.
TEST(DearSession, TheProgramMayUpdate) {
  constexpr int kWorkers = 2;
  const auto train = [&](const std::string& strategy, const OptionTexts& options) {
    const Job job(small_network(strategy, options, kWorkers));
    testing::Board board(kWorkers * job.elements());
    testing::expect_good(testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
      SectionWork* work = nullptr;
      std::vector<std::uint64_t> steps(job.elements());  // of each element
      Callbacks callbacks;
      callbacks.update = [&](Slice part, std::uint64_t step) {
        const std::span<float> x = work->own.session.parameters(), g = work->own.session.gradients();
        for (std::size_t i = part.begin; i < part.end; ++i) {
          check_equal(step, ++steps[i], "the step");
          x[i] -= 0.5F / static_cast<float>(step) * g[i];
        }
      };
      SectionWork own(job, net, job.setting(), {}, callbacks);
      work = &own;
      own.run();
      check(steps == std::vector<std::uint64_t>(steps.size(), job.simulation.steps), "all steps");
      const std::span<const float> x = own.own.session.parameters();
      std::copy(x.begin(), x.end(), board.part(static_cast<std::size_t>(net.rank()), x.size()).begin());
    }));
    const auto all = board.part(0, kWorkers * job.elements());
    return std::vector<float>(all.begin(), all.end());
  };
  const std::vector<float> expected = train("allreduce", {});
  EXPECT_EQ(train("dear", {{"gather", "gradients"}, {"fusion", "256"}, {"edge", "16"}}), expected);
  EXPECT_EQ(train("allreduce", {{"schedule", "priority"}, {"fusion", "300"}}), expected);
}

}  // namespace
}  // namespace starling::session
