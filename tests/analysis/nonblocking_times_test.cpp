// Non-blocking SGD, against numbers that were derived or simulated apart.
#include "starling/analysis/nonblocking_times.h"

#include <gtest/gtest.h>

#include <cmath>

#include "starling/analysis/barrier_times.h"
#include "tests/analysis/crews.h"

namespace starling::analysis {
namespace {

using Trigger = PieceRules::Trigger;

struct Expected {
  double seconds, pieces;
};

void expect_step(const PieceStep& step, const Expected& expected, double digits = 1.5e-6) {
  EXPECT_NEAR(step.seconds, expected.seconds, digits);
  EXPECT_NEAR(step.pieces, expected.pieces, 10 * digits);
}

enum class Span { kStep, kPiece };

PieceStep step_of(const Crew& crew, Span span, const PieceRules& rules, int pieces = 8) {
  return piece_step(crew, rules, *make_piece_clock(crew.jitter, pieces, span == Span::kPiece));
}

RunTimes times_of(const Crew& crew, Span span, const PieceRules& rules, int pieces = 8) {
  return nonblocking_times(crew, rules, *make_piece_clock(crew.jitter, pieces, span == Span::kPiece));
}

struct First {
  int workers;
  Expected drop, finish;
};

TEST(PieceStep, FirstOfExponentialPieces) {
  for (const First& row : {First{2, {.803619, 12.857910}, {.928619, 13.857910}},
                           First{4, {.664289, 21.257233}, {.893455, 24.257233}},
                           First{8, {.560922, 35.899002}, {.885029, 42.899002}},
                           First{16, {.481272, 61.602828}, {.896051, 76.602828}},
                           First{64, {.366334, 187.562829}, {.957367, 250.562829}}}) {
    const Crew crew = equal_crew(row.workers, "exponential");
    expect_step(step_of(crew, Span::kPiece, {}), row.drop);
    expect_step(step_of(crew, Span::kPiece, {.finish = true}), row.finish);
    // Dropping loses nothing: as many full batches per second as workers.
    EXPECT_NEAR(times_of(crew, Span::kPiece, {}).batches.low, row.workers, 1e-4);
    EXPECT_NEAR(times_of(crew, Span::kPiece, {}).waiting.low, 0, 1e-6);
  }
}

TEST(PieceStep, QuorumAndDeadlineOfExponentialPieces) {
  const Crew crew = equal_crew(8, "exponential");
  expect_step(step_of(crew, Span::kPiece, {.finishers = 2}), {.703124, 43.862342});
  expect_step(step_of(crew, Span::kPiece, {.finishers = 2, .finish = true}), {1.009374, 49.862342});
  expect_step(step_of(crew, Span::kPiece, {.finishers = 4, .finish = true}), {1.175085, 57.200438});
  expect_step(step_of(equal_crew(64, "exponential"), Span::kPiece, {.finishers = 32, .finish = true}),
              {1.460263, 461.844386}, 3e-6);
  PieceRules deadline{.trigger = Trigger::kDeadline, .deadline_seconds = 1};
  expect_step(step_of(crew, Span::kPiece, deadline), {.999577, 55.066462});
  deadline.finish = true;
  expect_step(step_of(crew, Span::kPiece, deadline), {1.240437, 58.690148}, 3e-6);
  deadline.deadline_seconds = 1.5;
  expect_step(step_of(crew, Span::kPiece, deadline), {1.489461, 63.386690}, 3e-6);
}

TEST(PieceStep, OneSlowWorker) {
  const Crew crew = crew_with_slow(8, "exponential", 4);
  expect_step(step_of(crew, Span::kPiece, {}), {.578689, 33.563961});
  expect_step(step_of(crew, Span::kPiece, {.finish = true}), {1.167340, 40.563961});
}

TEST(PieceStep, FewPieces) {
  const auto batches = [](int workers, int pieces) {
    const Crew crew = equal_crew(workers, "exponential");
    return times_of(crew, Span::kPiece, {.finish = true}, pieces).batches.low;
  };
  EXPECT_NEAR(batches(8, 2), 3.600152, 1e-5);
  EXPECT_NEAR(batches(8, 4), 4.785098, 1e-5);
  EXPECT_NEAR(batches(8, 16), 6.974402, 1e-5);
  EXPECT_NEAR(batches(64, 4), 21.047892, 1e-4);
  EXPECT_NEAR(batches(8, 1), 8 / 2.717857, 1e-5);  // sync
}

// Simulated: the last digit is uncertain.
TEST(PieceStep, FirstOfLognormalPieces) {
  const auto step = [](int workers, bool finish) {
    return step_of(equal_crew(workers, "lognormal:0.5"), Span::kPiece, {.finish = finish});
  };
  EXPECT_NEAR(step(2, false).seconds, .895, .003);
  EXPECT_NEAR(step(2, false).pieces, 13.945, .024);
  EXPECT_NEAR(step(8, true).seconds, .9448, .0024);
  EXPECT_NEAR(step(8, true).pieces, 53.08, .09);
  EXPECT_NEAR(step(64, true).seconds, .965, .003);
  EXPECT_NEAR(step(64, true).pieces, 368.3, .9);
}

TEST(PieceStep, WithoutJitterASlowWorkerMakesWhatFits) {
  for (const auto& [factor, time, pieces] :
       {std::tuple{3.0, 1.125, 3.0}, {5.0, 1.25, 2.0}, {16.0, 2.0, 1.0}}) {
    for (const Span span : {Span::kStep, Span::kPiece}) {
      const Crew crew = crew_with_slow(8, "none", factor);
      expect_step(step_of(crew, span, {}), {1, 56 + std::floor(8 / factor)});
      expect_step(step_of(crew, span, {.finish = true}), {time, 56 + pieces});
    }
  }
}

// 1 of 2 workers has a factor of 5 with the probability 0.18, and 2 have with 0.01. T = 1 unless both have.
TEST(PieceStep, TwoValuesByHand) {
  const Crew crew = equal_crew(2, "bernoulli:0.1:5");
  expect_step(step_of(crew, Span::kStep, {}), {1.04, 16 - 0.18 * 7}, 1e-9);
  expect_step(step_of(crew, Span::kStep, {.finish = true}), {1.04 + 0.18 * 0.25, 16 - 0.18 * 6}, 1e-9);
  EXPECT_NEAR(step_of(crew, Span::kStep, {.finish = true}).computing, 0.81 * 2 + 0.18 * 2.25 + 0.01 * 10,
              1e-9);
  const PieceRules deadline{.trigger = Trigger::kDeadline, .deadline_seconds = 1.1, .finish = true};
  expect_step(step_of(crew, Span::kStep, deadline), {0.81 + 0.19 * 1.25, 16 - 0.2 * 6}, 1e-6);
}

TEST(PieceStep, AllIsSync) {
  for (const char* const jitter : {"lognormal:0.5", "exponential", "bernoulli:0.1:5"}) {
    const Crew crew = crew_with_slow(8, jitter, 2);
    const RunTimes all = times_of(crew, Span::kStep, {.trigger = Trigger::kAll}), sync = sync_times(crew);
    EXPECT_NEAR(all.step.low, sync.step.low, 1e-9);
    EXPECT_NEAR(all.batches.low, sync.batches.low, 1e-9);
    EXPECT_NEAR(all.waiting.low, sync.waiting.low, 1e-9);
  }
  // With a factor for each piece, of sums.
  const RunTimes all = times_of(equal_crew(8, "exponential"), Span::kPiece, {.trigger = Trigger::kAll});
  EXPECT_NEAR(all.batches.low, 5.146284, 1e-5);
}

// A deadline that everybody keeps, and one piece for a step.
TEST(PieceStep, Limits) {
  for (const char* const jitter : {"normal:0.3", "pareto:4", "bernoulli:0.1:5"}) {
    const Crew crew = equal_crew(4, jitter);
    const double sync = sync_times(crew).step.low;
    const PieceRules late{.trigger = Trigger::kDeadline, .deadline_seconds = 1e4, .finish = true};
    EXPECT_NEAR(step_of(crew, Span::kStep, late).seconds, sync, 1e-6) << jitter;
    EXPECT_NEAR(step_of(crew, Span::kStep, late).pieces, 32, 1e-6) << jitter;
    const PieceStep whole = step_of(crew, Span::kStep, {.finish = true}, 1);
    EXPECT_NEAR(whole.seconds, sync, 2e-5) << jitter;
    EXPECT_NEAR(whole.pieces, 4, 1e-6) << jitter;
  }
}

}  // namespace
}  // namespace starling::analysis
