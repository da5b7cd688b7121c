// Runs that are saved and go on later.
#include "starling/session/background/checkpoint.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstring>
#include <thread>

#include "tests/session/jobs.h"
#include "tests/session/shelf.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::Shelf;
using testing::simulation_of;

struct Run {
  Job job;
  Session::Options setting;
  Shelf& shelf;
  Board& results;
  std::uint64_t saved_step = 0;  // what is put on the shelf
};

void write(Run& run, JobSession& own, Rank rank, const Save& save) {
  if (save.step != run.saved_step) return;
  ByteWriter out;
  out.put_block(std::as_bytes(own.session.parameters())).put_raw(std::as_bytes(std::span(&own.random, 1)));
  out.put_block(save.kept).put_block(save.server);
  run.shelf.put(static_cast<std::size_t>(rank), out.take());
}

// Where a rank begins.
struct Start {
  Session::Options setting;
  std::vector<float> model;
  Random random;
};

Start start_of(Run& run, Rank rank) {
  Start start{run.setting, {}, run.job.data(rank)};
  if (!run.setting.resume) return start;
  const Bytes bytes = run.shelf.get(static_cast<std::size_t>(rank));
  ByteReader in(bytes, "the shelf");
  const auto parameters = in.get_block();
  start.model.resize(parameters.size() / sizeof(float));
  std::memcpy(start.model.data(), parameters.data(), parameters.size());
  std::memcpy(&start.random, in.get_raw(sizeof(Random)).data(), sizeof(Random));
  const auto kept = in.get_block(), server = in.get_block();
  start.setting.resume->kept.assign(kept.begin(), kept.end());
  start.setting.resume->server.assign(server.begin(), server.end());
  return start;
}

// One rank of a run; it continues from the shelf if the options say so.
void live(Run& run, transport::Transport& net) {
  const Start start = start_of(run, net.rank());
  JobSession* session = nullptr;
  Callbacks callbacks;
  const auto user = std::this_thread::get_id();
  std::uint64_t committed = 0;
  callbacks.save = [&](const Save& save) {
    check(std::this_thread::get_id() == user, "saving is the user's thread's");
    write(run, *session, net.rank(), save);
  };
  callbacks.saved = [&](const Saved& saved) {
    check(std::this_thread::get_id() == user && net.rank() == 0, "on the user's thread of rank 0");
    committed = saved.step;
  };
  JobSession own(run.job, net, start.setting, callbacks, start.model);
  session = &own;
  own.random = start.random;
  while (own.session.next()) own.compute();
  if (net.rank() == 0 && run.setting.save_every > 0)
    check_equal(committed, run.saved_step, "the last commit");
  const auto parameters = own.session.parameters();
  std::copy(parameters.begin(), parameters.end(),
            run.results.part(static_cast<std::size_t>(net.rank()), parameters.size()).begin());
}

std::vector<float> models_after(Run& run) {
  const auto outcomes =
      testing::run_ranks(run.job, run.setting, [&](transport::Transport& net) { live(run, net); });
  for (const launch::Outcome& outcome : outcomes)
    EXPECT_TRUE(outcome.good()) << outcome.error << outcome.signal;
  const auto all = run.results.part(0, static_cast<std::size_t>(run.job.workers) * run.job.elements());
  return {all.begin(), all.end()};
}

// 20 steps in one go, and 10 steps, saved, then 10 more, maybe with other options.
void expect_same_bits(sim::Simulation simulation, const OptionTexts& later) {
  const auto workers = static_cast<int>(simulation.cluster.workers.size());
  simulation.steps = 20;
  Shelf shelf(static_cast<std::size_t>(workers));
  Board results(static_cast<std::size_t>(workers) * simulation.workload->parameters());
  Run run{Job(simulation), {}, shelf, results};
  run.setting = run.job.setting();
  const std::vector<float> straight = models_after(run);

  run.setting.steps = 10;
  run.setting.save_every = 10;
  run.saved_step = 10;
  models_after(run);

  run.setting.steps = 20;
  run.setting.save_every = 0;
  run.setting.resume.emplace().step = 10;
  run.setting.own_models = true;
  simulation.options = later;
  run.job = Job(simulation);
  EXPECT_EQ(models_after(run), straight) << simulation.strategy->name;
}

void expect_same_bits(const std::string& strategy, const OptionTexts& options, int workers) {
  sim::Simulation simulation = simulation_of(strategy, options, workers);
  simulation.optimizer.momentum = 0.9;
  expect_same_bits(simulation, options);
}

TEST(Checkpoint, GoingOnGivesTheSameBits) {
  expect_same_bits("allreduce", {}, 1);
  expect_same_bits("allreduce", {}, 3);
  expect_same_bits("dpsgd", {}, 4);
  expect_same_bits("local-sgd", {{"period", "4"}}, 3);
  expect_same_bits(
      "local-sgd",
      {{"period", "8"}, {"outer", "nesterov"}, {"fragments", "2"}, {"delay", "2"}, {"mix", "0.5"}}, 3);
  expect_same_bits("noloco", {{"period", "3"}}, 4);
  expect_same_bits("easgd", {{"order", "sync"}}, 3);
  expect_same_bits("easgd", {{"order", "round-robin"}}, 3);
  expect_same_bits("easgd", {{"order", "round-robin"}, {"centre", "sharded"}}, 3);
  expect_same_bits("easgd", {{"order", "round-robin"}, {"centre", "server"}, {"period", "3"}}, 3);
  expect_same_bits("hogwild", {}, 1);
  expect_same_bits("ripples", {{"groups", "static"}, {"group-size", "2"}}, 4);
  expect_same_bits("ps", {}, 3);
  expect_same_bits("ps", {{"server", "beside"}}, 3);
}

// A checkpoint contains the whole state of the optimiser, although each rank had only a part.
TEST(Checkpoint, SchedulesGoOnInTheSameBitsAlsoWithOtherBuckets) {
  const OptionTexts small{{"fusion", "256"}, {"edge", "16"}}, large{{"fusion", "1g"}, {"edge", "1g"}};
  using OptimizerKind = optim::OptimizerSpec::Kind;
  for (const auto& [options, later] : {std::pair(small, small), {small, large}, {large, small}}) {
    for (const OptimizerKind kind : {OptimizerKind::kSgd, OptimizerKind::kAdamW}) {
      for (const char* gather : {"weights", "gradients"}) {
        OptionTexts before = options, after = later;
        before["gather"] = after["gather"] = gather;
        sim::Simulation simulation = simulation_of("dear", before, 3);
        simulation.workload = sim::make_workload("mlp", {.workers = 3}, "workload");
        simulation.optimizer = {.kind = kind, .learning_rate = 0.01, .momentum = 0.9};
        expect_same_bits(simulation, after);
      }
    }
  }
  sim::Simulation simulation = simulation_of("allreduce", {{"schedule", "priority"}, {"fusion", "64"}}, 3);
  simulation.workload = sim::make_workload("mlp", {.workers = 3}, "workload");
  simulation.optimizer.momentum = 0.9;
  expect_same_bits(simulation, {{"schedule", "ddp"}, {"fusion", "64"}});
}

// The server's part is too large for the shelf with the larger model.
TEST(Checkpoint, OptimizersByTensorGoOnInTheSameBits) {
  using OptimizerKind = optim::OptimizerSpec::Kind;
  for (const OptimizerKind kind : {OptimizerKind::kLars, OptimizerKind::kLamb}) {
    for (const char* strategy : {"allreduce", "local-sgd", "dear", "ps"}) {
      const std::string name = strategy;
      const OptionTexts options =
          name == "dear" ? OptionTexts{{"fusion", "256"}, {"edge", "16"}} : OptionTexts{};
      sim::Simulation simulation = simulation_of(name, options, 3);
      if (name != "ps") simulation.workload = sim::make_workload("mlp", {.workers = 3}, "workload");
      simulation.optimizer = {.kind = kind, .learning_rate = 0.01, .momentum = 0.9};
      expect_same_bits(simulation, options);
    }
  }
}

// Pausing workers delay no other, in any strategy; saving changes nothing.
TEST(Checkpoint, AllSaveAfterTheSameSteps) {
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"allreduce", {}},
                                          {"local-sgd", {{"period", "4"}}},
                                          {"local-sgd", {{"period", "5"}, {"period-by", "speed"}}},
                                          {"noloco", {{"period", "3"}}},
                                          {"easgd", {}},
                                          {"easgd", {{"centre", "sharded"}}},
                                          {"easgd", {{"order", "round-robin"}, {"centre", "server"}}},
                                          {"easgd", {{"order", "sync"}}},
                                          {"ea-wild", {}},
                                          {"async-sgd", {}},
                                          {"hogwild", {}},
                                          {"dpsgd", {}},
                                          {"adpsgd", {}},
                                          {"adpsgd", {{"graph", "any"}}},
                                          {"ripples", {}},
                                          {"ripples", {{"groups", "static"}, {"group-size", "2"}}},
                                          {"ripples", {{"groups", "random"}}},
                                          {"ripples", {{"groups", "ready"}}},
                                          {"ripples", {{"overlap", "1"}, {"period", "3"}}},
                                          {"ps", {}},
                                          {"ps", {{"mode", "asp"}}},
                                          {"ps", {{"mode", "ssp"}, {"staleness", "1"}, {"server", "beside"}}},
                                          {"dear", {}},
                                          {"dear", {{"gather", "gradients"}}},
                                          {"dear", {{"fusion", "auto"}}},
                                          {"allreduce", {{"schedule", "horovod"}}},
                                          {"allreduce", {{"schedule", "priority"}}}}) {
    sim::Simulation simulation = simulation_of(strategy, options, 3);
    simulation.steps = 33;
    const Job job(simulation);
    Session::Options setting = job.setting();
    setting.save_every = 4;
    const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      std::vector<std::uint64_t> saves;
      Callbacks callbacks;
      callbacks.save = [&](const Save& save) {
        saves.push_back(save.step);
        check(!save.kept.empty(), "the engine's state");
        check_equal(!save.server.empty(), net.rank() == 0 && job.ranks() > job.workers, "the server's state");
      };
      JobSession own(job, net, setting, callbacks);
      while (own.session.next()) own.compute();
      check_equal(saves.size(), 8U, "saves");
      check_equal(saves.back(), 32U, "the last one");
    });
    for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << strategy << outcome.error;
  }
}

TEST(Checkpoint, TheEndMayComeAtAnyTime) {
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"ps", {{"mode", "asp"}}},
                                          {"ps", {{"mode", "ssp"}}},
                                          {"ps", {{"mode", "bsp"}}},
                                          {"local-sgd", {{"period", "4"}, {"period-by", "speed"}}}}) {
    for (std::uint64_t when = 3; when <= 8; ++when) {
      sim::Simulation simulation = simulation_of(strategy, options, 3);
      simulation.steps = 1'000'000'000;
      const Job job(simulation);
      Session::Options setting = job.setting();
      setting.save_every = 3;
      const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
        JobSession own(job, net, setting);
        for (std::uint64_t batch = 1; own.session.next(); ++batch) {
          own.compute();
          if (net.rank() == 1 && batch == when) own.session.stop();
        }
      });
      for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
    }
  }
}

TEST(Checkpoint, WhoDiesWhileSavingIsNotWaitedFor) {
  const Job job(simulation_of("dpsgd", {}, 4));
  Session::Options setting = job.setting();
  setting.save_every = 5;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    Callbacks callbacks;
    callbacks.save = [&](const Save& save) {
      if (net.rank() == 1 && save.step == 5) raise(SIGKILL);
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) own.compute();
    check_equal(own.session.journal().steps, job.simulation.steps, "steps");
  });
  for (const std::size_t rank : {0, 2, 3}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
}

// All skip that checkpoint, and the run goes on.
TEST(Checkpoint, AWorkerThatCannotSaveIsNoReasonToEnd) {
  const Job job(simulation_of("allreduce", {}, 2));
  Session::Options setting = job.setting();
  setting.save_every = 5;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    Callbacks callbacks;
    callbacks.save = [&](const Save& save) {
      if (net.rank() == 1 && save.step == 5) throw Error("the disk is full");
    };
    std::vector<std::uint64_t> saved;
    callbacks.saved = [&](const Saved& what) { saved.push_back(what.step); };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) own.compute();
    const bool complete = net.rank() != 0 || (!saved.empty() && saved.front() == 10);
    testing::check(complete, concat("saved are the steps ", join_texts(saved)));
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

// Rank 0 dies when all have written and it is to complete the checkpoint: the next worker does. Rank 0 is the
// last to write, so that it finds the words of the others and dies at once.
TEST(Checkpoint, TheNextWorkerCompletesWhatRankZeroCouldNot) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  simulation.steps = 9;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.save_every = 4;
  Board completed(16);  // how often, by step
  Board words(3);       // of the last step that each rank has written
  const auto wrote = [&](std::size_t rank) { return std::atomic_ref<float>(words.part(rank, 1)[0]); };
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    Callbacks callbacks;
    callbacks.save = [&](const Save& save) {
      const auto step = static_cast<float>(save.step);
      wrote(static_cast<std::size_t>(net.rank())) = step;
      while (net.rank() == 0 && (wrote(1) < step || wrote(2) < step)) std::this_thread::yield();
    };
    callbacks.saved = [&](const Saved& saved) {
      const std::uint64_t step = saved.step;
      if (net.rank() == 0 && step == 8) raise(SIGKILL);
      check(saved.ranks == Group{0, 1, 2}, "rank 0 has written its part");
      check(net.rank() == (step == 8 ? 1 : 0), "the coordinator's");
      completed.part(static_cast<std::size_t>(step), 1)[0] += 1;
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) own.compute();
  });
  EXPECT_EQ(outcomes[0].signal, SIGKILL);
  for (const std::size_t rank : {1, 2}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
  EXPECT_EQ(completed.part(4, 1)[0], 1);
  EXPECT_EQ(completed.part(8, 1)[0], 1);
}

TEST(Checkpoint, BackupWorkersCannotBeSaved) {
  const Job job(simulation_of("ps", {{"mode", "bsp"}, {"backup", "1"}, {"server", "beside"}}, 2));
  Session::Options setting = job.setting();
  setting.save_every = 5;
  const auto outcomes =
      testing::run_ranks(job, setting, [&](transport::Transport& net) { JobSession own(job, net, setting); });
  EXPECT_NE(outcomes[0].error.find("cannot rest"), std::string::npos) << outcomes[0].error;
}

TEST(Checkpoint, AStateOfOtherSettingsIsRefused) {
  const Job job(simulation_of("allreduce", {}, 1));
  Session::Options setting = job.setting();
  setting.optimizer.momentum = 0.9;
  float other = 1;
  Random random(1);
  CheckpointState kept;
  kept.keep("random", std::as_writable_bytes(std::span(&random, 1)));
  kept.keep("optimizer/0", std::as_writable_bytes(std::span(&other, 1)));
  setting.resume.emplace().kept = kept.pack();
  const auto outcomes =
      testing::run_ranks(job, setting, [&](transport::Transport& net) { JobSession own(job, net, setting); });
  EXPECT_NE(outcomes[0].error.find("optimizer/0"), std::string::npos) << outcomes[0].error;
}

}  // namespace
}  // namespace starling::session
