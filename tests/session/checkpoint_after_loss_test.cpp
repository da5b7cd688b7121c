// Checkpoints of the workers that are left, and runs in which the lost ones take part again.
#include <gtest/gtest.h>
#include <signal.h>

#include <cstring>
#include <map>

#include "tests/session/jobs.h"
#include "tests/session/shelf.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::Shelf;
using testing::simulation_of;

constexpr std::uint64_t kSaved = 12;

struct LossRun {
  Job job;
  Rank victim;
  Shelf& shelf;
  testing::Board& committed;  // by rank: whether it has a part
};

Bytes part_of(JobSession& own, const Save& save) {
  ByteWriter out;
  out.put_block(std::as_bytes(own.session.parameters())).put_block(save.kept).put_block(save.server);
  return out.take();
}

// One worker dies in its eighth step; the others save after steps 4, 8 and 12, then the run ends.
void train_with_loss(LossRun& run, transport::Transport& net) {
  JobSession* session = nullptr;
  Callbacks callbacks;
  callbacks.save = [&](const Save& save) {
    if (save.step == kSaved) run.shelf.put(static_cast<std::size_t>(net.rank()), part_of(*session, save));
  };
  callbacks.saved = [&](const Saved& saved) {
    if (saved.step != kSaved) return;
    for (const Rank rank : saved.ranks) run.committed.part(static_cast<std::size_t>(rank), 1)[0] = 1;
  };
  Session::Options setting = run.job.setting();
  setting.steps = kSaved + 1;
  setting.save_every = 4;
  JobSession own(run.job, net, setting, callbacks);
  session = &own;
  for (int step = 1; own.session.next(); ++step) {
    if (net.rank() == run.victim && step == 8) raise(SIGKILL);
    own.compute();
  }
}

// All of them, the lost one with the part of the lowest that is left, save again and reach step 30.
void go_on(LossRun& run, transport::Transport& net) {
  const bool has_part = run.committed.part(static_cast<std::size_t>(net.rank()), 1)[0] > 0;
  const Rank lowest = run.victim == 0 ? 1 : 0;
  const Bytes bytes = run.shelf.get(static_cast<std::size_t>(has_part ? net.rank() : lowest));
  ByteReader in(bytes, "the shelf");
  const auto parameters = in.get_block(), kept = in.get_block(), server = in.get_block();
  std::vector<float> model(parameters.size() / sizeof(float));
  std::memcpy(model.data(), parameters.data(), parameters.size());
  Session::Options setting = run.job.setting();
  setting.steps = 30;
  setting.save_every = 4;
  setting.own_models = true;
  setting.resume = Resume{kSaved, {kept.begin(), kept.end()}, {server.begin(), server.end()}, !has_part};
  Group last;
  Callbacks callbacks;
  callbacks.saved = [&](const Saved& saved) { last = saved.ranks; };
  JobSession own(run.job, net, setting, callbacks, model);
  while (own.session.next()) own.compute();
  check_equal(own.session.journal().steps, 30 - kSaved, "steps");
  if (net.rank() == 0) check(last == Group{0, 1, 2}, "all have a part again");
}

// The part of a rank without its random numbers.
std::map<std::string, Bytes> shared_state(Shelf& shelf, Rank rank) {
  const Bytes bytes = shelf.get(static_cast<std::size_t>(rank));
  ByteReader part(bytes, "the shelf");
  std::map<std::string, Bytes> states;
  const auto parameters = part.get_block();
  states["parameters"] = Bytes(parameters.begin(), parameters.end());
  ByteReader kept(part.get_block(), "the kept state");
  kept.get<std::uint64_t>();  // of what kind it is
  for (auto count = kept.get<std::uint64_t>(); count > 0; --count) {
    const std::string name = kept.get_text();
    const auto state = kept.get_block();
    if (name != "random") states[name] = Bytes(state.begin(), state.end());
  }
  return states;
}

void expect_to_go_on(const std::string& strategy, const OptionTexts& options, Rank victim) {
  std::string what = strategy;
  for (const auto& [name, value] : options) what += concat(" --", name, " ", value);
  SCOPED_TRACE(concat(what, ", without worker ", victim));
  sim::Simulation simulation = simulation_of(strategy, options, 3);
  simulation.optimizer.momentum = 0.9;
  Shelf shelf(3);
  testing::Board committed(3);
  LossRun run{Job(simulation), victim, shelf, committed};
  const auto first = testing::run_ranks(run.job, run.job.setting(),
                                        [&](transport::Transport& net) { train_with_loss(run, net); });
  for (Rank rank = 0; rank < 3; ++rank) {
    const auto index = static_cast<std::size_t>(rank);
    EXPECT_EQ(first[index].good(), rank != victim) << rank << first[index].error;
    ASSERT_EQ(committed.part(index, 1)[0], rank == victim ? 0 : 1) << rank;
  }
  // The slices of the optimiser's state were cut anew, and gathered.
  if (strategy == "dear") {
    EXPECT_EQ(shared_state(shelf, 1), shared_state(shelf, 2 - victim));
  }
  const auto second =
      testing::run_ranks(run.job, run.job.setting(), [&](transport::Transport& net) { go_on(run, net); });
  for (const launch::Outcome& outcome : second) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(CheckpointAfterLoss, AllGoOnFromThatOfTheLiving) {
  for (const auto& [strategy, options] :
       {std::pair<std::string, OptionTexts>{"allreduce", {}},
        {"dear", {}},
        {"local-sgd", {{"period", "5"}}},
        {"local-sgd", {{"period", "5"}, {"period-by", "speed"}}},
        {"local-sgd",
         {{"period", "10"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "3"}, {"mix", "0.5"}}},
        {"noloco", {{"period", "3"}}},
        {"easgd", {}},
        {"easgd", {{"centre", "sharded"}}},
        {"easgd", {{"order", "round-robin"}}},
        {"easgd", {{"order", "sync"}}},
        {"ea-wild", {}},
        {"hogwild", {}},
        {"dpsgd", {}},
        {"adpsgd", {{"graph", "any"}}},
        {"ripples", {}},
        {"ripples", {{"groups", "static"}, {"group-size", "2"}}},
        {"ripples", {{"groups", "ready"}}},
        {"ps", {}},
        {"ps", {{"mode", "asp"}}},
        {"ps", {{"mode", "ssp"}, {"staleness", "2"}}}}) {
    for (const Rank victim : {0, 2}) expect_to_go_on(strategy, options, victim);
  }
  expect_to_go_on("ps", {{"server", "beside"}}, 2);
  expect_to_go_on("ps", {{"server", "beside"}, {"mode", "ssp"}, {"staleness", "2"}}, 1);
}

// Without the part of the coordinator nobody has the state of the server; the next checkpoint has it again.
TEST(CheckpointAfterLoss, IsSkippedIfTheServersStateWasNotWritten) {
  sim::Simulation simulation = simulation_of("ps", {}, 3);
  simulation.steps = 9;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.save_every = 4;
  testing::Board completed(16);  // how many parts, by step
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    Callbacks callbacks;
    callbacks.save = [&](const Save& save) {
      if (net.rank() == 0) raise(SIGKILL);
      check_equal(!save.server.empty(), net.rank() == 1 && save.step == 8, "the server's state");
    };
    callbacks.saved = [&](const Saved& saved) {
      completed.part(static_cast<std::size_t>(saved.step), 1)[0] = static_cast<float>(saved.ranks.size());
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) own.compute();
  });
  for (const std::size_t rank : {1, 2}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
  EXPECT_EQ(completed.part(4, 1)[0], 0);
  EXPECT_EQ(completed.part(8, 1)[0], 2);
}

}  // namespace
}  // namespace starling::session
