// Steps of pieces, and portions of the global batch, on real processes: each sample is used once an epoch.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <thread>

#include "tests/session/jobs.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::Job;
using testing::JobSession;

constexpr int kPieceRanks = 3;
constexpr std::uint64_t kEpochs = 3;

struct Results {
  explicit Results(std::size_t units, std::size_t elements)
      : used(kEpochs * units), models(kPieceRanks * elements), steps(kPieceRanks), own(kPieceRanks) {}
  Board used;    // how often each unit of an epoch was used, by epoch
  Board models;  // at the end, by rank
  Board steps;   // by rank
  Board own;     // units that the rank used in its last epoch
};

Job job_of(const std::string& strategy, const OptionTexts& options) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, kPieceRanks);
  simulation.steps = 1'000'000;
  return Job(simulation);
}

session::Session::Options without_equal_batches(const Job& job) {
  session::Session::Options setting = job.setting();
  setting.equal_batches = false;
  return setting;
}

// A worker whose speed is emulated: rank 0 takes much longer for the same.
void spend_time(Rank rank, std::size_t parts) {
  std::this_thread::sleep_for(std::chrono::microseconds(rank == 0 ? 2000 : 200) * parts);
}

void leave_model(JobSession& own, Rank rank, Results& results) {
  const std::span<const float> model = own.session.parameters();
  std::copy(model.begin(), model.end(),
            results.models.part(static_cast<std::size_t>(rank), model.size()).begin());
  results.steps.part(static_cast<std::size_t>(rank), 1)[0] = static_cast<float>(own.session.journal().steps);
}

// Takes pieces by demand, until all epochs are over.
class PieceProgram {
 public:
  PieceProgram(const Job& job, transport::Transport& net, std::uint64_t units, Results& results)
      : rank_(net.rank()),
        units_(units),
        results_(results),
        drops_(job.simulation.options.contains("late") && job.simulation.options.at("late") == "drop"),
        own_(job, net, setting(job)) {}

  void run() {
    std::optional<Share> piece;
    while (own_.session.next()) {
      if (!own_.session.again()) {
        if (piece && drops_) count(*piece);
        piece = take();
      }
      if (!piece) {
        own_.session.finish();
        break;
      }
      spend_time(rank_, 1);
      if (!drops_) count(*piece);
      own_.compute();
    }
    leave_model(own_, rank_, results_);
  }

 private:
  static session::Session::Options setting(const Job& job) {
    session::Session::Options setting = without_equal_batches(job);
    setting.dynamic_shares = true;
    return setting;
  }
  std::optional<Share> take() {
    for (; epoch_ < kEpochs; ++epoch_) {
      const Share share = own_.session.next_share(epoch_, units_);
      if (share.kind == Share::Kind::kBatch) return share;
    }
    return {};
  }
  void count(const Share& piece) {
    auto& times = results_.used.part(epoch_ * units_ + piece.batch, 1)[0];
    std::atomic_ref(times).fetch_add(1);
  }

  Rank rank_;
  std::uint64_t units_;
  Results& results_;
  bool drops_;  // then it is known with the next request only whether a piece was used
  JobSession own_;
  std::uint64_t epoch_ = 0;
};

class Pieces : public ::testing::TestWithParam<OptionTexts> {};

// A dropped piece is computed again, except in the last step of the run.
TEST_P(Pieces, AreEachUsedOnceAnEpoch) {
  const Job job = job_of("nonblocking", GetParam());
  constexpr std::uint64_t kUnits = 60;
  Results results(kUnits, job.elements());
  const auto outcomes = testing::run_ranks(
      job, job.setting(), [&](transport::Transport& net) { PieceProgram(job, net, kUnits, results).run(); });
  for (const launch::Outcome& outcome : outcomes)
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
  const bool drops = GetParam().count("late") > 0 && GetParam().at("late") == "drop";
  int missing = 0;
  for (std::size_t unit = 0; unit < kEpochs * kUnits; ++unit) {
    const float times = results.used.part(unit, 1)[0];
    EXPECT_LE(times, 1) << "unit " << unit;
    if (times == 0) ++missing;
  }
  EXPECT_LE(missing, drops ? kPieceRanks : 0);
  const bool on_ring = GetParam().count("base") == 0;
  for (std::size_t rank = 1; on_ring && rank < kPieceRanks; ++rank) {
    EXPECT_EQ(results.steps.part(rank, 1)[0], results.steps.part(0, 1)[0]);
    const auto own = results.models.part(rank, job.elements()),
               first = results.models.part(0, job.elements());
    EXPECT_TRUE(std::equal(own.begin(), own.end(), first.begin()));
  }
}

INSTANTIATE_TEST_SUITE_P(Pieces, Pieces,
                         ::testing::Values(OptionTexts{}, OptionTexts{{"late", "finish"}},
                                           OptionTexts{{"late", "drop"}}, OptionTexts{{"trigger", "all"}},
                                           OptionTexts{{"trigger", "quorum:2"}},
                                           OptionTexts{{"trigger", "deadline:4ms"}},
                                           OptionTexts{{"trigger", "deadline:4ms"}, {"late", "drop"}},
                                           OptionTexts{{"base", "dpsgd"}},
                                           OptionTexts{{"base", "dpsgd"}, {"late", "drop"}},
                                           OptionTexts{{"base", "matcha"}}, OptionTexts{{"base", "ripples"}}),
                         [](const auto& of) { return "case" + std::to_string(of.index); });

// Three steps of all ranks, with what `before` does before each piece. The models at the end are equal.
template <class Before>
void expect_one_model(const OptionTexts& options, const Before& before) {
  sim::Simulation simulation = testing::simulation_of("nonblocking", options, kPieceRanks);
  simulation.steps = 3;
  const Job job(simulation);
  Results results(1, job.elements());
  const auto outcomes = testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
    JobSession own(job, net, without_equal_batches(job));
    while (own.session.next()) {
      before(own.session, net.rank(), results);
      own.compute();
    }
    leave_model(own, net.rank(), results);
  });
  for (const launch::Outcome& outcome : outcomes)
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
  const auto first = results.models.part(0, job.elements());
  for (std::size_t rank = 1; rank < kPieceRanks; ++rank) {
    const auto own = results.models.part(rank, job.elements());
    EXPECT_TRUE(std::equal(own.begin(), own.end(), first.begin())) << "rank " << rank;
  }
}

// Rank 0 computes its first piece until the others have made a step without it: it has never had a learning
// rate when it makes their update.
TEST(Pieces, AWorkerThatHasFinishedNothingMakesTheSameUpdate) {
  expect_one_model({{"late", "drop"}, {"trigger", "deadline:1ms"}},
                   [](Session& session, Rank rank, Results& results) {
                     std::atomic_ref(results.steps.part(static_cast<std::size_t>(rank), 1)[0])
                         .store(static_cast<float>(session.step()));
                     std::atomic_ref<float> other(results.steps.part(1, 1)[0]);
                     while (rank == 0 && session.step() == 1 && other.load() < 2) std::this_thread::yield();
                   });
}

// A schedule by data has workers at different places.
TEST(Pieces, AnUpdateHasOneLearningRate) {
  expect_one_model({}, [](Session& session, Rank rank, Results&) {
    session.set_learning_rate(0.01 * (rank + 1) / static_cast<double>(session.step()));
  });
}

// The samples of an epoch are in order; in each step the workers divide the next of them.
void train_by_portions(const Job& job, transport::Transport& net, std::size_t samples, Results& results) {
  const auto rank = static_cast<std::size_t>(net.rank());
  const std::size_t global = job.simulation.workload->batch() * kPieceRanks;
  JobSession own(job, net, without_equal_batches(job));
  for (std::uint64_t epoch = 0, step = 0; own.session.next();) {
    if (step * global == samples) {
      step = 0;
      if (++epoch == kEpochs) {
        own.session.finish();
        break;
      }
      results.own.part(rank, 1)[0] = 0;
    }
    const Slice part = own.session.portion()->of(global);
    for (std::size_t i = part.begin; i < part.end; ++i) {
      std::atomic_ref(results.used.part(epoch * samples + step * global + i, 1)[0]).fetch_add(1);
    }
    results.own.part(rank, 1)[0] += static_cast<float>(part.size());
    ++step;
    spend_time(net.rank(), part.size());
    const double loss = job.simulation.workload->gradient(net.rank(), own.session.parameters(),
                                                          own.session.gradients(), part.size(), own.random);
    own.session.computed({.samples = part.size(), .loss = loss});
  }
  leave_model(own, net.rank(), results);
}

class Portions : public ::testing::TestWithParam<std::pair<std::string, OptionTexts>> {};

TEST_P(Portions, AreInProportionToSpeedAndCoverTheEpoch) {
  auto [strategy, options] = GetParam();
  options["balance"] = "speed";
  const Job job = job_of(strategy, options);
  const std::size_t samples = 12 * kPieceRanks * job.simulation.workload->batch();
  Results results(samples, job.elements());
  const auto outcomes = testing::run_ranks(
      job, job.setting(), [&](transport::Transport& net) { train_by_portions(job, net, samples, results); });
  for (const launch::Outcome& outcome : outcomes)
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
  for (std::size_t i = 0; i < kEpochs * samples; ++i)
    EXPECT_EQ(results.used.part(i, 1)[0], 1) << "sample " << i;
  const auto part = [&](std::size_t rank) {
    return results.own.part(rank, 1)[0] / static_cast<float>(samples);
  };
  EXPECT_FLOAT_EQ(part(0) + part(1) + part(2), 1);
  EXPECT_LT(part(0), 0.2);  // rank 0 has a tenth of the speed or less, unless the machine is busy
}

INSTANTIATE_TEST_SUITE_P(
    Portions, Portions,
    ::testing::Values(std::pair<std::string, OptionTexts>{"allreduce", {}},
                      std::pair<std::string, OptionTexts>{"allreduce", {{"schedule", "ddp"}}},
                      std::pair<std::string, OptionTexts>{"dear", {}},
                      std::pair<std::string, OptionTexts>{"ps", {}},
                      std::pair<std::string, OptionTexts>{"local-sgd", {{"period", "2"}}}),
    [](const auto& of) { return "case" + std::to_string(of.index); });

}  // namespace
}  // namespace starling::session
