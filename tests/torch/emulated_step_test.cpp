// The arithmetic of paced sections, without sleeping.
#include "starling/torch/emulated_step.h"

#include <gtest/gtest.h>

#include <chrono>

namespace starling::torch {
namespace {

using namespace std::chrono_literals;

const std::vector<strategy::Section> kSections = {{"a", 0, 100}, {"b", 100, 300}, {"c", 400, 600}};

EmulatedStep clock_of(double speed = 1) { return {cluster::SpeedProfile(speed, {}), kSections}; }

void expect_time(Time found, Duration wanted) {
  EXPECT_NEAR(static_cast<double>(found.time_since_epoch().count()), static_cast<double>(wanted.count()), 10);
}

TEST(EmulatedStep, AThirdIsForwardAndTheRestBackward) {
  EmulatedStep clock = clock_of();
  clock.begin(Time(1s), 0.3);
  expect_time(clock.forward(0), 1010ms);
  expect_time(clock.forward(1), 1040ms);
  expect_time(clock.forward(2), 1100ms);
  expect_time(clock.backward(2), 1220ms);
  expect_time(clock.backward(1), 1280ms);
  expect_time(clock.backward(0), 1300ms);
  expect_time(clock.end(), 1300ms);
}

TEST(EmulatedStep, StandsStillWhileTheProgramWaits) {
  EmulatedStep clock = clock_of();
  clock.begin(Time(1s), 0.3);
  expect_time(clock.forward(0), 1010ms);
  clock.stand_still(5s);
  expect_time(clock.forward(1), 6040ms);
  expect_time(clock.end(), 6300ms);
}

TEST(EmulatedStep, TheTotalIsThatOfTheStepWhateverIsToldOf) {
  EmulatedStep clock = clock_of();
  clock.begin(Time(1s), 0.3);
  expect_time(clock.end(), 1300ms);
  clock.begin(Time(2s), 0.3);
  expect_time(clock.forward(2), 2060ms);
  expect_time(clock.forward(2), 2060ms);
  expect_time(clock.backward(1), 2160ms);
  expect_time(clock.forward(0), 2160ms);
  expect_time(clock.end(), 2300ms);
  EmulatedStep slow = clock_of(0.5);
  slow.begin(Time(1s), 0.3);
  expect_time(slow.forward(0), 1020ms);
  expect_time(slow.end(), 1600ms);
}

TEST(EmulatedStep, FollowsTheFaultsOfTheWorker) {
  const cluster::Fault pause{.kind = cluster::Fault::Kind::kPause, .from = Time(1020ms), .to = Time(2020ms)};
  EmulatedStep clock(cluster::SpeedProfile(1, std::span(&pause, 1)), kSections);
  clock.begin(Time(1s), 0.3);
  expect_time(clock.forward(0), 1010ms);
  expect_time(clock.forward(1), 2040ms);
  expect_time(clock.end(), 2300ms);
  const cluster::Fault for_ever{.kind = cluster::Fault::Kind::kPause, .from = Time(1020ms)};
  EmulatedStep stopped(cluster::SpeedProfile(1, std::span(&for_ever, 1)), kSections);
  stopped.begin(Time(1s), 0.3);
  stopped.forward(1);
  stopped.stand_still(1s);
  EXPECT_EQ(stopped.end(), Time(kForever));
}

TEST(EmulatedStep, TinySectionsCountALittle) {
  EmulatedStep clock(cluster::SpeedProfile(1, {}), {{"a", 0, 1}, {"b", 1, 199'999}});
  clock.begin(Time(0s), 3);
  const double share = 1000.0 / (1000 + 199'999);
  expect_time(clock.forward(0), Duration(static_cast<Duration::rep>(1e9 * share)));
  expect_time(clock.forward(1), 1s);
}

TEST(EmulatedStep, WithoutSectionsThereIsOnlyTheEnd) {
  EmulatedStep clock(cluster::SpeedProfile(1, {}), {});
  clock.begin(Time(1s), 0.3);
  expect_time(clock.end(), 1300ms);
}

}  // namespace
}  // namespace starling::torch
