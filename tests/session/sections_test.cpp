// Steps whose sections the program reports while it computes.
#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "starling/launch/forked_ranks.h"
#include "starling/runtime/loop_scheduler.h"
#include "starling/session/session.h"
#include "starling/sim/blueprint.h"
#include "tests/support/check.h"
#include "tests/support/refusal.h"
#include "tests/support/simulations.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using strategy::StepPlan;
using strategy::Worker;

runtime::LoopScheduler& loop_of(transport::Transport& net) {
  return static_cast<runtime::LoopScheduler&>(net.scheduler());
}

void expect_good(launch::ForkedRanks& ranks) {
  for (const launch::Outcome& outcome : ranks.wait())
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
}

// A listener's view of a step, and the samples that were known then.
struct Seen {
  std::vector<std::size_t> forward, ready;
  std::size_t samples_at_first = 0;
};

// Informs the test when the first section is ready, so that the batch may end after it.
class Recorder final : public strategy::StepListener {
 public:
  Recorder(Worker& self, Seen& seen) : self_(self), seen_(seen) {}
  runtime::Task<> before_forward(std::size_t section) override {
    seen_.forward.push_back(section);
    co_return;
  }
  void gradient_ready(std::size_t section) override {
    if (seen_.ready.empty()) seen_.samples_at_first = self_.samples();
    seen_.ready.push_back(section);
  }

 private:
  Worker& self_;
  Seen& seen_;
};

class Listening final : public strategy::Strategy {
 public:
  explicit Listening(std::vector<Seen>& seen, int pieces = 1) : seen_(seen), pieces_(pieces) {}
  runtime::Task<> run(Worker& self) const override {
    for (;;) {
      Seen seen;
      Recorder recorder(self, seen);
      StepPlan plan;
      plan.listener = &recorder;
      plan.pieces = pieces_;
      const bool more = co_await self.compute(plan);
      if (!more) co_return;
      seen_.push_back(seen);
    }
  }

 private:
  std::vector<Seen>& seen_;
  int pieces_;
};

// One rank with three sections; the listener's view is complete when the session is over.
template <class Body>
void with_listener(int pieces, bool equal_batches, const Body& body,
                   const std::function<void(const std::vector<Seen>&)>& look) {
  launch::ForkedRanks ranks(1, [&](transport::Transport& net) {
    std::vector<Seen> seen;
    const Listening listening(seen, pieces);
    Session::Options setting;
    setting.sections = {{"a", 0, 1}, {"b", 1, 1}, {"c", 2, 1}};
    setting.equal_batches = equal_batches;
    const std::vector<float> model{1, 2, 3};
    {
      Session session(loop_of(net), net, listening, setting, model);
      body(session);
    }
    look(seen);
  });
  expect_good(ranks);
}

std::string order(const std::vector<std::size_t>& sections) { return join_texts(sections, " "); }

TEST(Sections, ArePassedOnAsTheyComeAndTheRestInReverse) {
  with_listener(
      1, true,
      [](Session& session) {
        for (int step = 0; step < 3; ++step) {
          testing::check(session.next(), "a batch is wanted");
          if (step < 2) session.section_ready(1);
          if (step == 1) session.section_ready(2);
          session.computed({.samples = 4, .loss = 1});
        }
        session.finish();
      },
      [](const std::vector<Seen>& seen) {
        testing::check_equal(seen.size(), 3U, "steps");
        testing::check_equal(order(seen[0].forward), "0 1 2", "forward");
        testing::check_equal(order(seen[0].ready), "1 2 0", "one told of");
        testing::check_equal(order(seen[1].ready), "1 2 0", "two told of");
        testing::check_equal(order(seen[2].ready), "2 1 0", "none told of");
      });
}

// Without its weight a gradient is of no use.
TEST(Sections, OfUnequalBatchesWaitForTheirWeight) {
  with_listener(
      1, false,
      [](Session& session) {
        testing::check(session.next(), "a batch is wanted");
        session.section_ready(0);
        session.computed({.samples = 5, .loss = 1});
        testing::check(session.next(), "a batch is wanted");
        session.expect(6);
        session.section_ready(0);
        session.computed({.samples = 6, .loss = 1});
        testing::check(session.next(), "a batch is wanted");
        session.expect(0);
        session.gradients()[1] = 7;  // a section that is not told of: too late, it counts
        session.computed({.samples = 0});
        session.finish();
      },
      [](const std::vector<Seen>& seen) {
        testing::check_equal(order(seen[0].ready), "2 1 0", "not expected");
        testing::check_equal(seen[0].samples_at_first, 5U, "samples");
        testing::check_equal(order(seen[1].ready), "0 2 1", "expected");
        testing::check_equal(seen[1].samples_at_first, 6U, "samples");
        testing::check_equal(seen[2].samples_at_first, 0U, "samples");
      });
}

TEST(Sections, OfABatchInPiecesAreCompleteAfterTheLast) {
  with_listener(
      2, true,
      [](Session& session) {
        for (int piece = 0; piece < 4; ++piece) {
          testing::check(session.next(), "a batch is wanted");
          for (std::size_t section = 0; section < 3; ++section) session.section_ready(section);
          session.computed({.samples = 4, .loss = 1});
        }
        session.finish();
      },
      [](const std::vector<Seen>& seen) {
        testing::check_equal(seen.size(), 2U, "steps");
        testing::check_equal(order(seen[0].ready), "2 1 0", "after the last piece");
        testing::check_equal(seen[0].samples_at_first, 8U, "samples");
      });
}

TEST(Sections, MistakesAreNamed) {
  with_listener(
      1, true,
      [](Session& session) {
        testing::check(session.next(), "a batch is wanted");
        testing::check_equal(testing::error_text([&] { session.section_ready(3); }),
                             "there is no section 3; the model has 3, counted from 0", "no such section");
        session.section_ready(1);
        testing::check_equal(testing::error_text([&] { session.section_ready(1); }),
                             "the gradient of section 1 (b) was complete twice in one step: gradients were "
                             "accumulated over several backward passes, but the strategy sends them during "
                             "the first",
                             "twice");
        session.expect(4);
        testing::check_equal(testing::error_text([&] { session.computed({.samples = 5}); }),
                             "a batch of 5 samples, of which 4 were expected", "not as expected");
        session.expect(0);
        testing::check_equal(testing::error_text([&] { session.computed({.samples = 0}); }),
                             "a batch of 0 samples; allowed: 1 or more, since all batches are equal", "none");
        session.expect(4);
        session.computed({.samples = 4});
        testing::check(session.next(), "a batch is wanted");
        session.section_ready(1);  // of another step
        session.computed({.samples = 4});
        session.finish();
      },
      [](const std::vector<Seen>& seen) { testing::check_equal(seen.size(), 2U, "steps"); });
}

// Trains a small network with momentum; the backward pass reports its sections, or none, or some.
void train(transport::Transport& net, const sim::Simulation& simulation,
           const std::vector<std::vector<float>>& expected, const OptionTexts& options,
           const std::function<bool(std::size_t, std::uint64_t)>& tells) {
  const auto& row = *simulation.strategy;
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, options), net.size());
  const sim::Workload& workload = *simulation.workload;
  Session::Options setting;
  setting.workers = net.size();
  setting.optimizer = simulation.optimizer;
  setting.sections = workload.sections();
  setting.steps = simulation.steps;
  std::vector<float> model(workload.parameters());
  Random start = Random(simulation.seed).fork(sim::kModel);
  workload.initialize(model, start);
  Session session(loop_of(net), net, *strategy, setting, model);
  Random random = Random(simulation.seed).fork(sim::kData).fork(static_cast<std::uint64_t>(net.rank()));
  std::vector<float> gradient(model.size());
  for (std::uint64_t step = 1; session.next(); ++step) {
    const double loss =
        workload.gradient(net.rank(), session.parameters(), gradient, workload.batch(), random);
    for (std::size_t i = setting.sections.size(); i-- > 0;) {
      const strategy::Section& section = setting.sections[i];
      const auto from = gradient.begin() + static_cast<std::ptrdiff_t>(section.offset);
      std::copy_n(from, section.count,
                  session.gradients().begin() + static_cast<std::ptrdiff_t>(section.offset));
      if (tells(i, step)) session.section_ready(i);
    }
    session.computed({.samples = workload.batch(), .loss = loss});
  }
  const std::span<const float> found = session.parameters();
  const std::vector<float>& wanted = expected[static_cast<std::size_t>(net.rank())];
  testing::check(std::equal(found.begin(), found.end(), wanted.begin(), wanted.end()), "the simulated bits");
}

const OptionTexts kSectionSchedules[] = {{{"schedule", "none"}},
                                         {{"schedule", "wfbp"}},
                                         {{"schedule", "ddp"}, {"fusion", "1k"}},
                                         {{"schedule", "ddp"}, {"fusion", "1g"}},
                                         {{"schedule", "horovod"}},
                                         {{"schedule", "mgwfbp"}},
                                         {{"schedule", "priority"}, {"fusion", "64"}}};

TEST(Sections, BucketsHaveTheBitsOfTheWhole) {
  sim::Simulation simulation = testing::simulation_of("allreduce", {}, 2);
  simulation.workload = sim::make_workload("mlp", {.workers = 2}, "workload");
  simulation.optimizer.momentum = 0.9;
  simulation.steps = 12;
  const auto expected = testing::run_to_end(simulation).models;
  for (const OptionTexts& options : kSectionSchedules) {
    SCOPED_TRACE(options.at("schedule"));
    launch::ForkedRanks ranks(2, [&](transport::Transport& net) {
      // Rank 1 reports only some sections, and none in some steps.
      train(net, simulation, expected, options, [&](std::size_t section, std::uint64_t step) {
        return net.rank() == 0 || (step % 3 != 0 && section != 1);
      });
    });
    expect_good(ranks);
  }
}

// The mean over all samples, whatever the shares of the workers; one has none in every third step.
TEST(Sections, UnequalBatchesAreWeightedAlsoInBuckets) {
  for (const OptionTexts& options : kSectionSchedules) {
    SCOPED_TRACE(options.at("schedule"));
    launch::ForkedRanks ranks(3, [&](transport::Transport& net) {
      const auto& row = strategy::find_strategy("allreduce");
      const auto strategy = row.make(strategy::Options::parse(row.options, row.name, options), 3);
      Session::Options setting;
      setting.workers = 3;
      setting.optimizer.learning_rate = 1;
      setting.sections = {{"a", 0, 1}, {"b", 1, 1}};
      setting.steps = 9;
      setting.equal_batches = false;
      const std::vector<float> model(2);
      Session session(loop_of(net), net, *strategy, setting, model);
      const auto rank = static_cast<std::size_t>(net.rank());
      float wanted = 0;
      for (std::size_t step = 1; session.next(); ++step) {
        testing::check_equal(session.parameters()[0], wanted, "the model");
        testing::check_equal(session.parameters()[1], wanted, "the model");
        // Samples 1, 2 and 5 of the gradients 8, 16 and 24; in every third step rank 2 has none, in the last
        // no rank has.
        const bool none = step == 9 || (rank == 2 && step % 3 == 0);
        const std::size_t samples[] = {1, 2, 5};
        const std::size_t own = none ? 0 : samples[rank];
        if (step % 2 == 0) session.expect(own);
        const float value = none && step % 2 != 0 ? std::numeric_limits<float>::quiet_NaN()
                                                  : static_cast<float>(8 * (rank + 1));
        for (std::size_t section = 2; section-- > 0;) {
          if (own > 0 || step % 2 != 0) session.gradients()[section] = value;
          session.section_ready(section);
        }
        session.computed({.samples = own, .loss = 1});
        if (step == 9) continue;
        wanted -= step % 3 == 0 ? (8.0F + 2 * 16) / 3 : (8.0F + 2 * 16 + 5 * 24) / 8;
      }
      testing::check_equal(session.parameters()[1], wanted, "the last model");
    });
    expect_good(ranks);
  }
}

}  // namespace
}  // namespace starling::session
