// The bytes of the schedules, and their reaction when ranks would send in different ways.
#include <gtest/gtest.h>

#include "starling/collective/buckets.h"
#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/core/error.h"
#include "tests/strategy/dear_cases.h"
#include "tests/strategy/fake_worker.h"

namespace starling::strategy {
namespace {

using collective::Algorithm;
using collective::Buckets;
using collective::Call;
using collective::Collective;
using testing::FakeWorker;
using testing::Layers;
using testing::VirtualRanks;
using testing::with;

constexpr std::uint64_t kPlanSteps = 6;

std::vector<Slice> places_of(const sim::Workload& workload) {
  std::vector<Slice> places;
  for (const Section& section : workload.sections()) {
    places.push_back({section.offset, section.offset + section.count});
  }
  return places;
}

// The one agreement on the plan: two numbers of each rank.
std::uint64_t agreement_bytes(std::size_t workers, std::size_t rank) {
  if (workers == 1) return 0;
  Call call{.kind = Collective::kAllGather, .members = workers, .count = 2 * workers, .element_bytes = 8};
  call.algorithm = collective::Selection::network().choose(call.count * 8, workers);
  return cost_of(call, rank).bytes;
}

std::uint64_t bytes_of_step(const Buckets& buckets, std::initializer_list<Collective> kinds,
                            Algorithm algorithm, std::size_t workers, std::size_t rank) {
  std::uint64_t bytes = 0;
  for (const collective::Bucket& bucket : buckets) {
    for (const Collective kind : kinds) {
      bytes += collective::cost_of({kind, algorithm, workers, bucket.elements.size()}, rank).bytes;
    }
  }
  return bytes;
}

record::RunRecord run(const std::string& strategy, const OptionTexts& options,
                      std::shared_ptr<const sim::Workload> workload, int workers) {
  sim::Simulation simulation = testing::simulation_of(strategy, options, workers);
  simulation.workload = std::move(workload);
  simulation.steps = kPlanSteps;
  return sim::simulate(simulation);
}

// Nothing is padded: the bytes of each rank follow from its slices. Rank 0 also sends the order to the
// others.
TEST(Bytes, AreThoseOfBothHalves) {
  const auto workload =
      std::make_shared<Layers>(std::vector<std::size_t>{100, 3, 0, 64, 1, 257, 12, 0, 31, 500, 7});
  const Buckets buckets = collective::taper_buckets(places_of(*workload), 300, 16);
  ASSERT_GT(buckets.size(), 4U);
  for (const std::size_t workers : {1, 2, 3, 4, 5, 8}) {
    for (const char* gather : {"weights", "gradients"}) {
      const OptionTexts options{{"fusion", "1200"}, {"edge", "64"}, {"front", "1"}, {"gather", gather}};
      const record::RunRecord found = run("dear", options, workload, static_cast<int>(workers));
      const bool even = (workers & (workers - 1)) == 0;
      for (std::size_t rank = 0; rank < workers; ++rank) {
        std::uint64_t step = bytes_of_step(buckets, {Collective::kReduceScatter, Collective::kAllGather},
                                           even ? Algorithm::kHalving : Algorithm::kRing, workers, rank);
        if (rank == 0) step += 8 * (workers - 1) * 2 * buckets.size();
        EXPECT_EQ(found.ranks[rank].bytes_sent, kPlanSteps * step + agreement_bytes(workers, rank))
            << "rank " << rank << " of " << workers << ", " << gather;
      }
    }
  }
}

TEST(Bytes, OfEqualSlicesAreTheFormula) {
  const auto workload = std::make_shared<Layers>(std::vector<std::size_t>(10, 60));
  for (const std::size_t workers : {2, 3, 4, 5}) {
    const record::RunRecord found =
        run("dear", {{"fusion", "500"}, {"edge", "1"}, {"front", "1"}}, workload, static_cast<int>(workers));
    const std::size_t model = 600 * sizeof(float);
    for (std::size_t rank = 1; rank < workers; ++rank) {
      EXPECT_EQ(found.ranks[rank].bytes_sent - agreement_bytes(workers, rank),
                kPlanSteps * 2 * (workers - 1) * model / workers);
    }
  }
}

TEST(Bytes, OfBucketsThatAreAllReduced) {
  const auto workload = std::make_shared<Layers>(std::vector<std::size_t>{100, 3, 0, 64, 1, 257, 12});
  const OptionTexts ring{{"algorithm", "ring"}};
  const Buckets filled = collective::fill_buckets(places_of(*workload), 100, 10);
  const Buckets pieces = collective::cut_in_pieces(places_of(*workload), 16);
  for (const std::size_t workers : {2, 3, 4}) {
    const auto count = static_cast<int>(workers);
    const record::RunRecord ddp = run(
        "allreduce", with(ring, {{"schedule", "ddp"}, {"fusion", "400"}, {"first", "40"}}), workload, count);
    const record::RunRecord priority =
        run("allreduce", with(ring, {{"schedule", "priority"}, {"fusion", "64"}}), workload, count);
    for (std::size_t rank = 0; rank < workers; ++rank) {
      const auto sent = [&](const Buckets& buckets) {
        return kPlanSteps *
                   bytes_of_step(buckets, {Collective::kAllReduce}, Algorithm::kRing, workers, rank) +
               agreement_bytes(workers, rank);
      };
      EXPECT_EQ(ddp.ranks[rank].bytes_sent, sent(filled));
      const std::uint64_t order = rank == 0 ? kPlanSteps * 8 * (workers - 1) * pieces.size() : 0;
      EXPECT_EQ(priority.ranks[rank].bytes_sent, sent(pieces) + order);
    }
  }
}

// The worker goes with its task, also if all end in a deadlock.
Task<> train(const Strategy& strategy, const RunInfo& place, VirtualRanks& ranks, Rank rank,
             const std::vector<Section>& sections) {
  FakeWorker self(place, ranks.at(rank), sections, 20);
  co_await strategy.run(self);
}

// Each rank with options of its own; what each ended with.
std::vector<std::string> run_each(const std::string& strategy, const std::vector<OptionTexts>& options,
                                  std::uint64_t seed) {
  const auto workers = static_cast<int>(options.size());
  std::vector<Section> sections;
  for (std::size_t i = 0; i < 8; ++i) sections.push_back({concat("s", i), 40 * i, 40});
  const RunInfo place = testing::place_of(workers, sections);
  std::vector<std::unique_ptr<Strategy>> strategies;
  const StrategyEntry& row = find_strategy(strategy);
  VirtualRanks ranks(workers, {std::chrono::microseconds(20), 1e-9}, seed);
  for (Rank rank = 0; rank < workers; ++rank) {
    const OptionTexts& own = options[static_cast<std::size_t>(rank)];
    strategies.push_back(row.make(Options::parse(row.options, row.name, own), workers));
    ranks.start(rank, train(*strategies.back(), place, ranks, rank, sections));
  }
  ranks.run();
  std::vector<std::string> errors(options.size());
  for (Rank rank = 0; rank < workers; ++rank) {
    try {
      if (ranks.error(rank)) std::rethrow_exception(ranks.error(rank));
    } catch (const Error& error) {
      errors[static_cast<std::size_t>(rank)] = error.what();
    }
  }
  return errors;
}

struct Mismatch {
  std::string strategy;
  OptionTexts most;
  OptionTexts other;
};

const Mismatch kMismatches[] = {
    {"dear", {{"fusion", "200"}}, {{"fusion", "400"}}},
    {"dear", {{"edge", "16"}}, {{"edge", "400"}}},
    {"dear", {{"gather", "weights"}}, {{"gather", "gradients"}}},
    {"dear", {{"algorithm", "ring"}}, {{"algorithm", "halving"}}},
    {"dear", {{"fusion", "25m"}}, {{"fusion", "auto"}}},
    {"dear", {{"fusion", "auto"}}, {{"fusion", "25m"}}},
    {"allreduce", {{"schedule", "ddp"}, {"fusion", "200"}}, {{"schedule", "ddp"}, {"fusion", "400"}}},
    {"allreduce", {{"schedule", "ddp"}}, {{"schedule", "ddp"}, {"algorithm", "ring"}}},
    {"allreduce", {{"schedule", "ddp"}}, {{"schedule", "wfbp"}}},
    {"allreduce", {{"schedule", "ddp"}}, {{"schedule", "mgwfbp"}}},
    {"allreduce", {{"schedule", "priority"}}, {{"schedule", "horovod"}}},
    {"allreduce", {{"schedule", "priority"}, {"fusion", "40"}}, {{"schedule", "priority"}, {"fusion", "80"}}},
    {"allreduce", {{"schedule", "horovod"}, {"fusion", "200"}}, {{"schedule", "horovod"}, {"fusion", "400"}}},
};

TEST(Plans, ThatDifferEndTheRunOnAllRanksNamingBoth) {
  for (const Mismatch& mismatch : kMismatches) {
    for (const int workers : {2, 4}) {
      for (Rank odd = 1; odd < workers; odd += 2) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
          std::vector<OptionTexts> options(static_cast<std::size_t>(workers), mismatch.most);
          options[static_cast<std::size_t>(odd)] = mismatch.other;
          const std::string what = concat(mismatch.strategy, " ", mismatch.other.begin()->first, "=",
                                          mismatch.other.begin()->second, ", odd rank ", odd);
          SCOPED_TRACE(what);
          for (const std::string& error : run_each(mismatch.strategy, options, seed)) {
            EXPECT_NE(error.find(concat("rank ", odd, " would send")), std::string::npos) << error;
            EXPECT_NE(error.find("than rank 0"), std::string::npos) << error;
          }
        }
      }
    }
  }
}

TEST(Plans, ThatAreEqualAreNoError) {
  for (const Mismatch& mismatch : kMismatches) {
    for (const OptionTexts& options : {mismatch.most, mismatch.other}) {
      for (const std::string& error : run_each(mismatch.strategy, {options, options, options}, 1)) {
        EXPECT_EQ(error, "");
      }
    }
  }
}

}  // namespace
}  // namespace starling::strategy
