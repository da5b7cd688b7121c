// A worker that is slower than it could be. Its input times are made up; it sleeps for real, so they are
// short.
#include "starling/torch/speed_emulator.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>

#include <chrono>
#include <thread>

namespace starling::torch {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

cluster::Cluster cluster() {
  return cluster::even_cluster(2, 2, cluster::parse_link("10gbe", "x"), cluster::parse_link("shm", "x"), {});
}

cluster::Cluster with_fault(const cluster::Fault& fault) {
  cluster::Cluster changed = cluster();
  cluster::add_fault(changed, fault, "x");
  return changed;
}

SpeedEmulator pacer(const cluster::Cluster& cluster, std::optional<Duration> step, Rank worker = 0) {
  return {cluster, worker, step, Random(1)};
}

// How long the end of a step sleeps that took `took`. At least that long, but not by how much more.
Duration slept(SpeedEmulator& pacer, Duration took) {
  static std::uint64_t step = 0;
  pacer.begin(Time(1s), ++step);
  const auto before = Clock::now();
  pacer.end(Time(1s + took));
  return Clock::now() - before;
}

TEST(SpeedEmulator, SleepsForTheRestOfTheStep) {
  SpeedEmulator paced = pacer(cluster(), 30ms);
  EXPECT_GE(slept(paced, 10ms), 20ms);
  EXPECT_EQ(paced.complaint(), "");
}

TEST(SpeedEmulator, ASlowWorkerSleepsLonger) {
  const cluster::Cluster slow = with_fault({.kind = cluster::Fault::Kind::kSlow, .subject = 0, .factor = 4});
  SpeedEmulator paced = pacer(slow, 10ms);
  EXPECT_GE(slept(paced, 5ms), 35ms);
}

TEST(SpeedEmulator, WithoutAPaceTheFactorIsOfWhatTheStepTook) {
  const cluster::Cluster slow = with_fault({.kind = cluster::Fault::Kind::kSlow, .subject = 0, .factor = 3});
  SpeedEmulator unpaced = pacer(slow, {});
  EXPECT_GE(slept(unpaced, 10ms), 20ms);
  // The other one does not sleep for an hour that it took, and is not late.
  SpeedEmulator other = pacer(slow, {}, 1);
  slept(other, 1h);
  EXPECT_EQ(other.complaint(), "");
}

// The first batch is done at 1.03 s, the thread wakes up at 1.05 s, and has computed the next one at 1.07 s.
TEST(SpeedEmulator, OnlyTheBatchesOfAStepFollowEachOtherAtOnce) {
  for (const std::uint64_t next_step : {1, 2}) {
    SpeedEmulator paced = pacer(cluster(), 30ms);
    paced.begin(Time(1s), 1);
    paced.end(Time(1s));
    paced.begin(Time(1s + 50ms), next_step);
    paced.end(Time(1s + 70ms));
    const bool late = next_step == 1;
    EXPECT_EQ(paced.complaint().find("50 % of its steps") != std::string::npos, late) << paced.complaint();
  }
}

TEST(SpeedEmulator, ComplainsIfThePaceCannotBeKept) {
  SpeedEmulator paced = pacer(cluster(), 10ms, 1);
  for (int i = 0; i < 3; ++i) slept(paced, 15ms);
  slept(paced, 10ms);
  EXPECT_EQ(paced.complaint(),
            "worker 1: the pace is too short for this machine: 75 % of its steps took longer than meant, 15 "
            "ms each "
            "on average");
}

TEST(SpeedEmulator, ToleratesALittle) {
  SpeedEmulator paced = pacer(cluster(), 10ms);
  EXPECT_EQ(paced.complaint(), "");
  for (int i = 0; i < 19; ++i) slept(paced, 10ms + 900us);
  slept(paced, 1h);  // one of twenty
  EXPECT_EQ(paced.complaint(), "");
  slept(paced, 1h);
  EXPECT_NE(paced.complaint(), "");
}

TEST(SpeedEmulator, SleepsBySectionAndNotLongerForWaiting) {
  SpeedEmulator paced(cluster(), 0, 30ms, Random(1), {{"a", 0, 10}, {"b", 10, 10}});
  const std::size_t first[] = {0}, second[] = {1};
  const auto before = Clock::now();
  const auto now = [&] { return Time(Clock::now() - before); };
  paced.begin(now(), 1);
  paced.forward(first, now());
  EXPECT_GE(now(), Time(5ms));
  const Time asked = now();
  std::this_thread::sleep_for(40ms);
  paced.waited(now() - asked);
  paced.forward(second, now());
  EXPECT_GE(now(), Time(50ms));
  paced.end(now());
  EXPECT_GE(now(), Time(70ms));
  EXPECT_EQ(paced.complaint(), "");
}

TEST(SpeedEmulator, PassesGradientsOnWhenTheyAreDue) {
  SpeedEmulator paced(cluster(), 0, 30ms, Random(1), {{"a", 0, 10}, {"b", 10, 10}});
  std::vector<std::size_t> passed;
  const auto before = Clock::now();
  paced.on_gradient([&](std::size_t section) {
    passed.push_back(section);
    if (section == 0) {
      EXPECT_GE(Clock::now() - before, 9ms) << "30 ms, of which 21 are over";
    }
  });
  paced.begin(Time(1s), 1);
  paced.backward(1, Time(1s + 19ms));
  EXPECT_THAT(passed, ::testing::ElementsAre()) << "it is due at 20 ms";
  paced.backward(0, Time(1s + 21ms));
  EXPECT_THAT(passed, ::testing::ElementsAre(1));
  paced.end(Time(1s + 21ms));
  EXPECT_THAT(passed, ::testing::ElementsAre(1, 0));
  SpeedEmulator unpaced = pacer(cluster(), {});
  unpaced.on_gradient([&](std::size_t section) { passed.push_back(section); });
  unpaced.begin(Time(1s), 1);
  unpaced.backward(0, Time(1s));
  EXPECT_EQ(passed.size(), 3U) << "at once";
}

TEST(SpeedEmulator, WhatWasWaitedForIsNoWork) {
  const cluster::Cluster slow = with_fault({.kind = cluster::Fault::Kind::kSlow, .subject = 0, .factor = 3});
  SpeedEmulator unpaced = pacer(slow, {});
  unpaced.begin(Time(1s), 1);
  unpaced.waited(1h);
  const auto before = Clock::now();
  unpaced.end(Time(1s + 1h + 10ms));
  EXPECT_GE(Clock::now() - before, 20ms);
  EXPECT_LT(Clock::now() - before, 10s);
}

TEST(SpeedEmulator, TheBatchesOfAStepShareTheFactorOfTheJitter) {
  const auto slept_in_batches = [](std::uint64_t span) {
    cluster::Cluster varied = cluster();
    varied.workers[0].jitter = {cluster::Jitter::Kind::kBernoulli, 0.5, 1e-3};
    varied.workers[0].jitter_span = {span};
    SpeedEmulator paced = pacer(varied, 20ms);
    int slept = 0;
    for (int batch = 0; batch < 20; ++batch) {
      const auto before = Clock::now();
      paced.begin(Time(1s), 1);
      paced.end(Time(1s));
      if (Clock::now() - before >= 20ms) ++slept;
    }
    return slept;
  };
  const int in_one = slept_in_batches(1);
  EXPECT_TRUE(in_one <= 1 || in_one == 20) << in_one;
  EXPECT_GE(slept_in_batches(0), 2);
}

TEST(PacerDeathTest, DiesWhenItsTimeHasCome) {
  const cluster::Cluster deadly =
      with_fault({.kind = cluster::Fault::Kind::kKill, .subject = 0, .from = Time(2s)});
  SpeedEmulator paced = pacer(deadly, 1ms);
  paced.begin(Time(1999ms), 1);
  EXPECT_EXIT(paced.begin(Time(2s), 1), ::testing::KilledBySignal(SIGKILL), "");
  pacer(deadly, 1ms, 1).begin(Time(3s), 1);
}

}  // namespace
}  // namespace starling::torch
