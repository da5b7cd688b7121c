// Schedules on real processes where batches are unequal, where ranks disagree, and where one dies.
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

#include "starling/runtime/loop_scheduler.h"
#include "tests/session/section_runs.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::Manners;
using testing::SectionWork;
using testing::small_network;

const OptionTexts kGathers[] = {{{"fusion", "256"}, {"edge", "16"}, {"gather", "weights"}},
                                {{"fusion", "256"}, {"edge", "16"}, {"gather", "gradients"}}};

// Samples 1, 2 and 5 of the gradients 8, 16 and 24; in every third step rank 2 has none, in the last nobody
// has. Every second step the program says before the backward pass how many it has.
void train_unequal(transport::Transport& net, const strategy::Strategy& strategy) {
  Session::Options setting;
  setting.workers = 3;
  setting.optimizer.learning_rate = 1;
  setting.sections = {{"a", 0, 1}, {"b", 1, 2}, {"c", 3, 5}};
  setting.steps = 9;
  setting.equal_batches = false;
  const std::vector<float> model(8);
  Session session(static_cast<runtime::LoopScheduler&>(net.scheduler()), net, strategy, setting, model);
  const auto rank = static_cast<std::size_t>(net.rank());
  float wanted = 0;
  for (std::size_t step = 1; session.next(); ++step) {
    const bool none = step == 9 || (rank == 2 && step % 3 == 0);
    const std::size_t samples[] = {1, 2, 5};
    const std::size_t own = none ? 0 : samples[rank];
    session.use({0, 3});
    for (const float x : session.parameters()) check_equal(x, wanted, "the model");
    if (step % 2 == 0) session.expect(own);
    for (std::size_t section = 3; section-- > 0;) {
      const strategy::Section& place = setting.sections[section];
      for (std::size_t i = place.offset; own > 0 && i < place.offset + place.count; ++i) {
        session.gradients()[i] = static_cast<float>(8 * (rank + 1));
      }
      if (own > 0) session.section_ready(section);
    }
    session.computed({.samples = own, .loss = 1});
    if (step == 9) continue;
    wanted -= step % 3 == 0 ? (8.0F + 2 * 16) / 3 : (8.0F + 2 * 16 + 5 * 24) / 8;
  }
  for (const float x : session.parameters()) check_equal(x, wanted, "the last model");
}

TEST(DearSession, UnequalBatchesAreWeighted) {
  for (const OptionTexts& gather : kGathers) {
    const auto& row = strategy::find_strategy("dear");
    const auto strategy = row.make(strategy::Options::parse(row.options, row.name, gather), 3);
    launch::ForkedRanks ranks(3, [&](transport::Transport& net) { train_unequal(net, *strategy); });
    testing::expect_good(ranks.wait());
  }
}

TEST(DearSession, RanksThatWouldSendInDifferentWaysAllEnd) {
  const std::pair<OptionTexts, OptionTexts> pairs[] = {
      {{{"fusion", "256"}}, {{"fusion", "1g"}, {"edge", "1g"}}},
      {{{"fusion", "auto"}}, {{"fusion", "25m"}}},
      {{{"fusion", "25m"}}, {{"fusion", "auto"}}}};
  for (const auto& [most, other] : pairs) {
    const Job job(small_network("dear", most, 3)), odd(small_network("dear", other, 3));
    const auto outcomes = testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
      SectionWork work(net.rank() == 1 ? odd : job, net, job.setting(), {});
      work.run();
    });
    for (const launch::Outcome& outcome : outcomes) {
      EXPECT_NE(outcome.error.find("rank 1 would send"), std::string::npos) << outcome.error;
      EXPECT_NE(outcome.error.find("than rank 0"), std::string::npos) << outcome.error;
    }
  }
}

// One rank dies at some place of some step; the others wait for it wherever they are.
enum class RunInfo { kBeforeUse, kAfterSomeUse, kAmidBackward, kBeforeComputed };

void work_until(const Job& job, transport::Transport& net, Rank victim, std::uint64_t last, RunInfo place) {
  Manners manners;
  const auto dies = [&](std::uint64_t step, RunInfo here) {
    if (net.rank() == victim && step == last && here == place) raise(SIGKILL);
  };
  manners.begins = [&](Session&, std::uint64_t step) { dies(step, RunInfo::kBeforeUse); };
  manners.asks = [&](Rank, std::uint64_t step, std::size_t section) {
    if (section == 2) dies(step, RunInfo::kAfterSomeUse);
    return true;
  };
  manners.tells = [&](Rank, std::uint64_t step, std::size_t section) {
    if (section == 1) dies(step, RunInfo::kAmidBackward);
    if (section == 0) dies(step, RunInfo::kBeforeComputed);
    return true;
  };
  SectionWork work(job, net, job.setting(), manners);
  work.run();
}

void expect_the_others_go_on(const std::vector<launch::Outcome>& outcomes, Rank victim) {
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<Rank>(rank) == victim) {
      EXPECT_EQ(outcomes[rank].signal, SIGKILL);
    } else {
      EXPECT_TRUE(outcomes[rank].good()) << "rank " << rank << ": " << outcomes[rank].error;
    }
  }
}

void expect_lost(const std::vector<launch::Outcome>& outcomes, Rank victim) {
  EXPECT_EQ(outcomes[static_cast<std::size_t>(victim)].signal, SIGKILL);
  for (std::size_t rank = 0; rank < outcomes.size(); ++rank) {
    if (static_cast<Rank>(rank) == victim) continue;
    EXPECT_NE(outcomes[rank].error.find("lost"), std::string::npos)
        << "rank " << rank << ": " << outcomes[rank].error << outcomes[rank].signal;
  }
}

TEST(DearSession, OthersGoOnWhereverOneDies) {
  for (const OptionTexts& gather : kGathers) {
    sim::Simulation simulation = small_network("dear", gather, 3);
    simulation.steps = 40;
    const Job job(simulation);
    for (const RunInfo place :
         {RunInfo::kBeforeUse, RunInfo::kAfterSomeUse, RunInfo::kAmidBackward, RunInfo::kBeforeComputed}) {
      for (const Rank victim : {0, 2}) {
        SCOPED_TRACE(concat("victim ", victim, ", place ", static_cast<int>(place)));
        expect_the_others_go_on(
            testing::run_ranks(job, job.setting(),
                               [&](transport::Transport& net) { work_until(job, net, victim, 7, place); }),
            victim);
      }
    }
  }
}

// From outside, at any instant, whatever the engine's thread is about.
TEST(DearSession, OthersEndWheneverOneIsKilledIfThatIsWanted) {
  constexpr int kRanks = 3, kKills = 20;
  Random random(5);
  for (int kill = 0; kill < kKills; ++kill) {
    sim::Simulation simulation = small_network("dear", kGathers[kill % 2], kRanks);
    simulation.steps = 1'000'000;
    Job job(simulation);
    job.end_on_loss = true;
    Board steps(kRanks);
    launch::ForkedRanks ranks(kRanks, [&](transport::Transport& net) {
      Manners manners;
      if (kill % 3 == 0) manners = {.asks = testing::never, .tells = testing::never};
      manners.begins = [&](Session&, std::uint64_t) {
        steps.part(static_cast<std::size_t>(net.rank()), 1)[0] += 1;
      };
      SectionWork work(job, net, job.setting(), manners);
      work.run();
    });
    const Rank victim = random.between(0, kRanks - 1);
    const auto when = static_cast<float>(random.between(1, 60));
    const volatile float& at = steps.part(static_cast<std::size_t>(victim), 1)[0];
    while (at < when) std::this_thread::sleep_for(std::chrono::microseconds(100));
    ranks.kill(victim, SIGKILL);
    expect_lost(ranks.wait(), victim);
  }
}

}  // namespace
}  // namespace starling::session
