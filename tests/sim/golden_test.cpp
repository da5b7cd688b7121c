// The same bits in every build: runs whose outcome is recorded here. All builds that run the tests
// (compilers, optimisation, sanitizers) compare with the same numbers. A change of the simulation, of the
// order of sums or of the random numbers changes them too, and must do so knowingly.
#include <gtest/gtest.h>

#include <bit>

#include "tests/support/simulations.h"

namespace starling::sim {
namespace {

// FNV-1a over the models and the time.
std::uint64_t fingerprint(const testing::Outcome& outcome) {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  const auto add = [&](std::uint64_t word) {
    for (int shift = 0; shift < 64; shift += 8) hash = (hash ^ ((word >> shift) & 0xff)) * 0x100000001b3ULL;
  };
  for (const std::vector<float>& model : outcome.models) {
    for (const float value : model) add(std::bit_cast<std::uint32_t>(value));
  }
  add(static_cast<std::uint64_t>(outcome.run.duration.count()));
  add(outcome.run.events);
  return hash;
}

std::uint64_t fingerprint_of(const std::string& strategy, const strategy::OptionTexts& options) {
  Simulation simulation = testing::simulation_of(strategy, options, 5);
  simulation.workload = make_workload("mlp", {.workers = 5}, "workload");
  simulation.optimizer.momentum = 0.9;
  simulation.steps = 20;
  simulation.seed = 7;
  const cluster::Jitter jitters[] = {{cluster::Jitter::Kind::kLognormal, 0.3, 0},
                                     {cluster::Jitter::Kind::kExponential, 0, 0},
                                     {cluster::Jitter::Kind::kPareto, 2.5, 0},
                                     {cluster::Jitter::Kind::kNormal, 0.2, 0},
                                     {cluster::Jitter::Kind::kBernoulli, 0.2, 5}};
  for (std::size_t i = 0; i < 5; ++i) simulation.cluster.workers[i].jitter = jitters[i];
  return fingerprint(testing::run_to_end(simulation));
}

TEST(Golden, RunsEndInTheSameBits) {
  EXPECT_EQ(fingerprint_of("allreduce", {}), 0xb519aa7189781c06ULL);
  EXPECT_EQ(fingerprint_of("allreduce", {{"algorithm", "ring"}}), 0xc300759b5200608dULL);
  EXPECT_EQ(fingerprint_of("local-sgd", {{"period", "3"}, {"adapt", "adacomm"}}), 0x3a6b3dcf5b1b621aULL);
  EXPECT_EQ(fingerprint_of("ps", {{"mode", "asp"}, {"scale", "none"}}), 0x2bf6987aed8d1d0dULL);
  EXPECT_EQ(fingerprint_of("ps", {{"backup", "1"}}), 0x27ab4a5ec752787bULL);
  EXPECT_EQ(fingerprint_of("dpsgd", {{"graph", "exponential"}}), 0x5e34809134e4e1afULL);
  EXPECT_EQ(fingerprint_of("dpsgd", {{"weights", "laplacian"}}), 0x7a0a98962308fc14ULL);
  EXPECT_EQ(fingerprint_of("matcha", {{"graph", "exponential"}}), 0x8d3bce7ac2d13338ULL);
}

}  // namespace
}  // namespace starling::sim
