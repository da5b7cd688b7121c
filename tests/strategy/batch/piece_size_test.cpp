#include "starling/strategy/batch/piece_size.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/simulations.h"

namespace starling::strategy {
namespace {

constexpr int kPieces = 32;

// A worker whose passes take `overhead` and `piece` seconds for each piece.
class Clock {
 public:
  Clock(double of_pass, double of_piece) : overhead(of_pass), piece(of_piece) {}

  // A step that ends after so many seconds; 0: when all pieces are done. Returns the passes.
  int step(double end = 0) {
    const Time begun = now_;
    size.step_begins(now_);
    int done = 0, passes = 0;
    bool late = false;
    while (done < kPieces && !late) {
      const int pass = std::min(size.next_pass(now_, done), kPieces - done);
      now_ += Duration(static_cast<Duration::rep>(1e9 * (overhead + piece * pass)));
      done += pass;
      ++passes;
      late = end > 0 && seconds_of(now_ - begun) > end;
    }
    size.step_ends(now_, done, late);
    return passes;
  }
  int after(int steps, double end = 0) {
    for (int i = 1; i < steps; ++i) step(end);
    return step(end);
  }

  PieceSize size{kPieces};
  double overhead, piece;

 private:
  Time now_{};
};

TEST(PieceSize, OnePassIsEnoughForAWorkerThatIsNeverLate) {
  Clock clock(0.01, 0.01);
  EXPECT_LE(clock.after(40), 2);
}

// Steps of 0.16 s, in which it could make 16 pieces without overhead: the rule's optimum is
// sqrt(2 a m / (q b)) with q = 1.
TEST(PieceSize, PassesAreShortWhereTheOverheadIsSmall) {
  Clock cheap(0.0001, 0.01), dear(0.02, 0.01);
  EXPECT_GE(cheap.after(60, 0.16), 7);
  EXPECT_LE(dear.after(60, 0.16), 3);
}

TEST(PieceSize, MeasuresOverheadAndPieces) {
  Clock clock(0.02, 0.01);
  clock.after(40, 0.2);
  EXPECT_EQ(clock.size.fitting(0.0701), 5);
  EXPECT_EQ(clock.size.fitting(0.001), 1);
  EXPECT_EQ(clock.size.fitting(100), kPieces);
}

// A worker that made one pass and becomes slow makes short ones within a few steps.
TEST(PieceSize, FollowsAWorkerThatBecomesSlow) {
  Clock clock(0.001, 0.01);
  EXPECT_LE(clock.after(40, 0.4), 2);
  clock.piece = 0.04;
  clock.overhead = 0.004;
  EXPECT_GE(clock.after(12, 0.4), 3);
}

sim::Simulation with_overhead(const std::string& pieces, double overhead, double slow) {
  sim::Simulation simulation = testing::simulation_of("nonblocking", {{"pieces", pieces}}, 8);
  simulation.cluster = testing::instant_cluster(8);
  for (auto& worker : simulation.cluster.workers) worker.jitter = {cluster::Jitter::Kind::kLognormal, 0.3, 0};
  simulation.cluster.workers[0].speed = 1 / slow;
  simulation.workload = sim::make_workload("quadratic", {.workers = 8, .batch = 64}, "workload");
  simulation.step_seconds = 1;
  simulation.pass_seconds = overhead;
  simulation.steps = 150;
  return simulation;
}

double samples_per_second(const sim::Simulation& simulation) {
  const record::RunRecord run = sim::simulate(simulation);
  double samples = 0;
  for (const auto& rank : run.ranks) samples += static_cast<double>(rank.journal.samples);
  return samples / seconds_of(run.duration);
}

// With an overhead of a tenth of a batch, eight passes cost 0.8 of one; without any, more pieces are better.
// Adapted, the number is at least nearly as good as the best of the fixed ones in each case.
TEST(PieceSize, IsAsGoodAsTheBestFixedNumber) {
  for (const double overhead : {0.0, 0.02, 0.1}) {
    for (const double slow : {1.0, 4.0, 20.0}) {
      double best = 0;
      for (const char* const pieces : {"2", "4", "8", "16", "32"}) {
        best = std::max(best, samples_per_second(with_overhead(pieces, overhead, slow)));
      }
      EXPECT_GT(samples_per_second(with_overhead("auto", overhead, slow)), 0.9 * best)
          << "overhead " << overhead << ", " << slow << " times slower";
    }
  }
}

}  // namespace
}  // namespace starling::strategy
