// Snapshots of real runs.
#include "starling/session/background/snapshot_service.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <atomic>
#include <chrono>
#include <cmath>

#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using strategy::OptionTexts;
using testing::Board;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

constexpr Duration kInterval = std::chrono::milliseconds(2);

void look_at(const std::vector<Snapshot>& shown, std::span<const float> initial, std::size_t elements) {
  check(shown.front().time == Duration(0), "the first is of the beginning");
  for (std::size_t i = 0; i < initial.size(); ++i)
    check_equal(shown.front().model[i], initial[i], "at first");
  for (std::size_t i = 0; i < shown.size(); ++i) {
    check_equal(shown[i].model.size(), elements + 2, "parameters and extras");
    check_equal(shown[i].final, i + 1 == shown.size(), "whether it is the final one");
    if (i == 0) continue;
    check(shown[i].time >= shown[i - 1].time, "by time");
    check(shown[i].steps >= shown[i - 1].steps, "steps grow");
    if (!shown[i].final) check(shown[i].time % kInterval == Duration(0), "a multiple of the interval");
    if (shown[i].steps > shown[i - 1].steps) check(!std::isnan(shown[i].loss), "a loss");
  }
}

// Goes on until rank 0 has seen some, then compares the final one with the workers' models.
void expect_snapshots(const std::string& strategy, const OptionTexts& options, int workers) {
  sim::Simulation simulation = simulation_of(strategy, options, workers);
  simulation.steps = 1'000'000'000;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.snapshot_every = kInterval;
  const std::size_t size = job.elements() + 2;
  Board models(static_cast<std::size_t>(workers + 1) * size);
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    const auto rank = static_cast<std::size_t>(net.rank());
    std::vector<float> extras(2);
    std::vector<Snapshot> shown;
    std::atomic<int> calls = 0;
    Callbacks callbacks;
    callbacks.extras = {std::span<float>(extras)};
    callbacks.snapshot = [&](Snapshot snapshot) {
      shown.push_back(std::move(snapshot));
      ++calls;
    };
    JobSession own(job, net, setting, callbacks);
    while (own.session.next()) {
      extras[0] += 1;
      extras[1] = static_cast<float>(rank);
      own.compute();
      if (calls >= 5) own.session.stop();
    }
    const auto mine = models.part(rank, size);
    const auto parameters = own.session.parameters();
    std::copy(extras.begin(), extras.end(), std::copy(parameters.begin(), parameters.end(), mine.begin()));
    own.session.collect();
    if (rank != 0) return check(shown.empty(), "only rank 0 has snapshots");
    look_at(shown, job.initial_model(), job.elements());
    std::copy(shown.back().model.begin(), shown.back().model.end(),
              models.part(static_cast<std::size_t>(workers), size).begin());
  });
  for (const launch::Outcome& outcome : outcomes)
    EXPECT_TRUE(outcome.good()) << strategy << ": " << outcome.error;
  for (std::size_t i = 0; i < size; ++i) {
    float sum = models.part(0, size)[i];
    for (std::size_t rank = 1; rank < static_cast<std::size_t>(workers); ++rank)
      sum += models.part(rank, size)[i];
    EXPECT_EQ(models.part(static_cast<std::size_t>(workers), size)[i], sum / static_cast<float>(workers));
  }
}

TEST(SnapshotService, ShowsTheMeanModelFromTheBeginningToTheEnd) {
  expect_snapshots("allreduce", {}, 1);
  expect_snapshots("allreduce", {}, 3);
  expect_snapshots("dpsgd", {}, 4);
  expect_snapshots("ps", {{"mode", "asp"}}, 3);
  expect_snapshots("ps", {{"mode", "asp"}, {"server", "beside"}}, 2);
}

TEST(SnapshotService, GoesOnWithoutTheLost) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  simulation.steps = 1'000'000'000;
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.snapshot_every = kInterval;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    std::vector<Snapshot> shown;
    std::atomic<int> calls = 0;
    Callbacks callbacks;
    callbacks.snapshot = [&](Snapshot snapshot) {
      shown.push_back(std::move(snapshot));
      ++calls;
    };
    JobSession own(job, net, setting, callbacks);
    for (std::uint64_t batch = 1; own.session.next(); ++batch) {
      if (net.rank() == 1 && batch == 20) raise(SIGKILL);
      own.compute();
      if (calls >= 5) own.session.stop();
    }
    own.session.collect();
    if (net.rank() == 0) check(shown.back().final, "a final one");
  });
  EXPECT_TRUE(outcomes[0].good()) << outcomes[0].error;
  EXPECT_TRUE(outcomes[2].good()) << outcomes[2].error;
}

// Rank 0 dies in the middle or when it has shown the final one. Rank 1 has a copy of what rank 0 was shown,
// and is shown the rest.
TEST(SnapshotService, TheNextWorkerGoesOnWhenRankZeroDies) {
  for (const bool at_the_end : {false, true}) {
    SCOPED_TRACE(at_the_end);
    sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
    simulation.steps = 1'000'000'000;
    const Job job(simulation);
    Session::Options setting = job.setting();
    setting.snapshot_every = kInterval;
    setting.keep_record = true;
    Board count(1);  // of the snapshots that rank 0 was shown
    const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      std::vector<Snapshot> all;
      std::size_t kept = 0;
      std::atomic<int> calls = 0;
      Callbacks callbacks;
      callbacks.snapshot = [&](Snapshot snapshot) {
        all.push_back(std::move(snapshot));
        if (net.rank() == 0) count.part(0, 1)[0] += 1;
        ++calls;
      };
      callbacks.keep_snapshot = [&](Snapshot snapshot) {
        check(net.rank() != 0, "a copy for the one that follows");
        all.push_back(std::move(snapshot));
        ++kept;
      };
      JobSession own(job, net, setting, callbacks);
      while (own.session.next()) {
        if (net.rank() == 0 && calls >= 5 && !at_the_end) raise(SIGKILL);
        own.compute();
        if (calls >= 5) own.session.stop();
      }
      const bool has_record = !own.session.collect().empty();
      if (net.rank() == 0) raise(SIGKILL);
      check_equal(has_record, net.rank() == 1, "whether it concludes the run");
      if (net.rank() != 1) return check(calls == 0, "rank 2 only has copies of rank 1's");
      check(kept >= 4, "copies");  // the last one may be on its way
      check(static_cast<float>(kept) <= count.part(0, 1)[0], "copies of those that were shown");
      for (std::size_t i = 0; i < all.size(); ++i) {
        check_equal(all[i].final, i + 1 == all.size(), "whether it is the final one");
        check(i == 0 || all[i].time > all[i - 1].time || all[i].final, "by time, each once");
        check(i == 0 || all[i].steps >= all[i - 1].steps, "steps grow");
      }
      check(all.front().time == Duration(0), "the first is of the beginning");
    });
    EXPECT_EQ(outcomes[0].signal, SIGKILL);
    for (const std::size_t rank : {1, 2}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
  }
}

TEST(SnapshotService, BytesOfSnapshotsAreNotTheStrategys) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 3);
  const Job job(simulation);
  Session::Options setting = job.setting();
  setting.snapshot_every = kInterval;
  setting.report = true;
  setting.keep_record = true;
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    while (own.session.next()) own.compute();
    for (const record::RankRecord& record : own.session.collect())
      check_equal(record.bytes_sent, job.simulation.steps * 2 * job.elements() * sizeof(float), "bytes");
  });
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

}  // namespace
}  // namespace starling::session
