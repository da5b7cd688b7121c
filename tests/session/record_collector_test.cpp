// The record of a real run: complete, in common time, and there also when ranks die.
#include "starling/session/background/record_collector.h"

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <thread>

#include "starling/record/summary.h"
#include "starling/record/wait_analysis.h"
#include "starling/session/background/record_codec.h"
#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::session {
namespace {

using record::RankRecord;
using strategy::OptionTexts;
using testing::check;
using testing::check_equal;
using testing::Job;
using testing::JobSession;
using testing::simulation_of;

RankRecord sample() {
  RankRecord record;
  record.rank = 3;
  record.host = 1;
  record.ended = "lost: no reason given";
  record.bytes_sent = 12345;
  record.messages_sent = 67;
  record.end = Time(Duration(1'000'000));
  record.journal.steps = 9;
  record.journal.samples = 90;
  record.journal.staleness.note(4);
  record.journal.staleness.note(100);
  record.journal.lock_waits.note(Duration(3));
  record.journal.step_traffic.peak_bytes = 500;
  record.journal.add({.activity = record::Activity::kWait, .whom = 2, .end = Time(Duration(5))});
  record.journal.add({.activity = record::Activity::kMeet, .background = true, .meeting = 77});
  record.journal.spans.back().detail = {record::Detail::Kind::kAllGather, 4, 2, 6};
  record.journal.fusion = {{{1 << 20, 0.5}, {2 << 20, 0.25}}, 2 << 20, true};
  return record;
}

TEST(RecordBytes, AreReadBack) {
  const RankRecord record = sample();
  const Bytes bytes = to_bytes(record);
  const RankRecord back = record_from(bytes);
  EXPECT_EQ(back.rank, 3);
  EXPECT_EQ(back.ended, record.ended);
  EXPECT_EQ(back.journal.spans.size(), 2U);
  EXPECT_EQ(back.journal.staleness.max, 100U);
  EXPECT_EQ(back.journal.staleness.buckets, record.journal.staleness.buckets);
  EXPECT_EQ(back.journal.step_traffic.peak_bytes, 500U);
  EXPECT_EQ(back.journal.lock_waits.count, 1U);
  EXPECT_EQ(back.journal.lock_waits.contended, 1U);
  EXPECT_EQ(back.journal.lock_waits.total, Duration(3));
  EXPECT_EQ(back.journal.fusion.bytes, 2U << 20);
  EXPECT_TRUE(back.journal.fusion.settled);
  ASSERT_EQ(back.journal.fusion.trials.size(), 2U);
  EXPECT_EQ(back.journal.fusion.trials[1].bytes, 2U << 20);
  EXPECT_EQ(back.journal.fusion.trials[1].seconds, 0.25);
  EXPECT_EQ(back.journal.spans[0].whom, 2);
  EXPECT_EQ(back.journal.spans[1].meeting, 77U);
  EXPECT_EQ(back.journal.spans[0].detail, record::Detail{});
  EXPECT_EQ(back.journal.spans[1].detail, record.journal.spans[1].detail);
  EXPECT_EQ(to_bytes(back), bytes);
}

TEST(RecordBytes, OthersAreRefused) {
  const Bytes bytes = to_bytes(sample());
  for (std::size_t length = 0; length < bytes.size(); ++length) {
    EXPECT_THROW(record_from(std::span(bytes).first(length)), Error) << length;
  }
  Bytes longer = bytes;
  longer.push_back(std::byte{0});
  EXPECT_THROW(record_from(longer), Error);
  Bytes other = bytes;
  other[0] = std::byte{0};
  EXPECT_THROW(record_from(other), Error);
}

TEST(RecordBytes, MoreBucketsThanThereAreAreRefused) {
  const RankRecord record = sample();
  Bytes bytes = to_bytes(record);
  const std::size_t used = record::Staleness::bucket_of(100) + 1;
  const auto buckets = wire_bytes_of(std::uint64_t{used});
  const auto at = std::search(bytes.begin(), bytes.end(), buckets.begin(), buckets.end());
  ASSERT_NE(at, bytes.end());
  *at = std::byte{record::Staleness::kBuckets + 1};
  try {
    record_from(bytes);
    ADD_FAILURE() << "accepted";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("92 buckets of staleness; allowed: up to 91"), std::string::npos)
        << error.what();
  }
}

// The detail of the last span ends the bytes: a kind, then step, first and last section.
TEST(RecordBytes, DetailsThatCannotBeAreRefused) {
  const Bytes bytes = to_bytes(sample());
  const std::size_t kind = bytes.size() - 1 - 3 * sizeof(std::uint32_t);
  const std::size_t last = bytes.size() - sizeof(std::uint32_t);
  ASSERT_EQ(bytes[kind], std::byte{5});
  ASSERT_EQ(bytes[last], std::byte{6});
  Bytes unknown = bytes;
  unknown[kind] = std::byte{6};
  EXPECT_THROW(record_from(unknown), Error);
  Bytes backwards = bytes;
  backwards[last] = std::byte{1};
  EXPECT_THROW(record_from(backwards), Error);
}

Session::Options recorded(const Job& job) {
  Session::Options setting = job.setting();
  setting.keep_record = true;
  return setting;
}

// Every rank trains; rank 0 looks at the records. Errors of the strategy are expected if `may_fail`: then
// others may be the coordinator after rank 0, and have records too.
template <class Look>
std::vector<launch::Outcome> train(const Job& job, const Session::Options& setting, const Look& look,
                                   const std::function<void(Rank, std::uint64_t)>& step,
                                   bool may_fail = false) {
  return testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    try {
      for (std::uint64_t batch = 1; own.session.next(); ++batch) {
        step(net.rank(), batch);
        own.compute();
      }
    } catch (const Error&) {
      if (!may_fail) throw;
    }
    const std::vector<RankRecord> records = own.session.collect();
    if (net.rank() == 0) look(records);
    if (net.rank() != 0 && !may_fail) check(records.empty(), "only rank 0 has the records");
  });
}

void look_at_all(const Job& job, const std::vector<RankRecord>& records) {
  check_equal(records.size(), static_cast<std::size_t>(job.ranks()), "records");
  for (std::size_t rank = 0; rank < records.size(); ++rank) {
    const RankRecord& record = records[rank];
    check_equal(record.rank, static_cast<Rank>(rank), "the rank");
    check_equal(record.ended, "", "why it ended");
    check_equal(record.trains, static_cast<int>(rank) < job.workers, "whether it trains");
    check(record.end > record.begin && record.begin == Time{}, "time passed");
    for (const record::Span& span : record.journal.spans) {
      check(span.begin >= Time{} && span.end >= span.begin, "spans count from the origin");
      if (record.trains && span.activity == record::Activity::kCompute)
        check(span.end <= record.end, "spans lie in the run");
    }
    if (!record.trains) continue;
    check_equal(record.journal.steps, job.simulation.steps, "steps");
    check_equal(record.journal.samples, job.simulation.steps * job.simulation.workload->batch(), "samples");
  }
}

// Every span counts once: the sums of the analysis are those that the journals count themselves.
void look_at_sums(const std::vector<RankRecord>& records) {
  const record::WaitAnalysis waits = record::analyse_waits(record::real_run("", records));
  for (const RankRecord& record : records) {
    if (!record.trains) continue;
    const record::RankTimes& times = waits.ranks[static_cast<std::size_t>(record.rank)];
    check_equal(record.folded.missing, 0U, "missing spans");
    check_equal(times.computing.count(), record.journal.computing.count(), "computing");
    check_equal((times.waiting + times.transferring + times.unattributed).count(),
                record.journal.waiting.count(), "waiting");
  }
}

// Holds up workers that are ahead of others. Rounds of the record end when all ranks have answered: where no
// worker waits for another, a fast one could make all its steps before a process on a busy machine runs at
// all.
class KeepTogether {
 public:
  explicit KeepTogether(int workers) : workers_(static_cast<std::size_t>(workers)), steps_(workers_) {}

  void begin_step(Rank rank, std::uint64_t step) {
    of(static_cast<std::size_t>(rank)).store(static_cast<float>(step));
    for (std::size_t other = 0; other < workers_; ++other) {
      while (of(other).load() + kMostAhead < static_cast<float>(step)) std::this_thread::yield();
    }
  }

 private:
  static constexpr float kMostAhead = 8;

  std::atomic_ref<float> of(std::size_t rank) { return std::atomic_ref(steps_.part(rank, 1)[0]); }

  std::size_t workers_;
  testing::Board steps_;
};

TEST(RecordCollector, ALongRunKeepsFewSpansAndAllSums) {
  constexpr std::uint64_t kSteps = 1500;
  for (const auto& [strategy, options] : {std::pair<std::string, OptionTexts>{"allreduce", {}},
                                          {"ps", {}},
                                          {"ps", {{"server", "beside"}, {"mode", "asp"}}},
                                          {"dpsgd", {}}}) {
    for (const record::RecordMode mode : {record::RecordMode::kFull, record::RecordMode::kSummary}) {
      sim::Simulation simulation = simulation_of(strategy, options, 3);
      simulation.steps = kSteps;
      const Job job(std::move(simulation));
      Session::Options setting = recorded(job);
      setting.record = {mode, 256};
      KeepTogether together(job.workers);
      const auto outcomes = train(
          job, setting,
          [&](const std::vector<RankRecord>& records) {
            look_at_all(job, records);
            look_at_sums(records);
            for (const RankRecord& record : records) {
              check(record.folded.spans > 0, "spans in sums");
              check(record.journal.spans.size() < kSteps, "few spans");
            }
          },
          [&](Rank rank, std::uint64_t step) { together.begin_step(rank, step); });
      for (const launch::Outcome& outcome : outcomes)
        EXPECT_TRUE(outcome.good()) << strategy << outcome.error;
    }
  }
}

TEST(RecordCollector, BringsInAllRanks) {
  for (const auto& [strategy, options] :
       {std::pair<std::string, OptionTexts>{"allreduce", {{"algorithm", "ring"}}},
        {"local-sgd", {}},
        {"ps", {}},
        {"ps", {{"server", "beside"}, {"mode", "asp"}}},
        {"dpsgd", {}}}) {
    for (const int workers : {1, 3}) {
      const Job job(simulation_of(strategy, options, workers));
      const auto outcomes = train(
          job, recorded(job), [&](const auto& records) { look_at_all(job, records); },
          [](Rank, std::uint64_t) {});
      for (const launch::Outcome& outcome : outcomes)
        EXPECT_TRUE(outcome.good()) << strategy << outcome.error;
    }
  }
}

// The bytes are those of the strategy's registry entry, exactly.
TEST(RecordCollector, BytesAreThoseOfTheStrategyAlone) {
  const Job job(simulation_of("dpsgd", {}, 3));
  const auto& row = *job.simulation.strategy;
  const strategy::Shape shape{.workers = 3, .elements = job.elements(), .steps = job.simulation.steps};
  const auto options = strategy::Options::parse(row.options, row.name, {});
  const auto outcomes = train(
      job, recorded(job),
      [&](const std::vector<RankRecord>& records) {
        for (const RankRecord& record : records) {
          check_equal(record.bytes_sent, row.bytes_sent(options, shape, record.rank).value(), "bytes");
          check_equal(record.journal.step_traffic.peak_bytes, record.bytes_sent / shape.steps, "of a step");
        }
      },
      [](Rank, std::uint64_t) {});
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(RecordCollector, TheServiceBesideAWorkerIsInItsRecord) {
  const Job job(simulation_of("ps", {{"server", "beside"}, {"mode", "asp"}}, 3));
  const auto outcomes = train(
      job, recorded(job),
      [&](const std::vector<RankRecord>& records) {
        check_equal(records[0].journal.staleness.count, 3 * job.simulation.steps,
                    "gradients that were applied");
        for (const record::Span& span : records[0].journal.spans)
          if (span.activity == record::Activity::kServe) check(span.background, "serving is background");
      },
      [](Rank, std::uint64_t) {});
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(RecordCollector, TheLostAreNamed) {
  for (const std::string strategy : {"dpsgd", "allreduce"}) {
    const Job job(simulation_of(strategy, {}, 3));
    const auto outcomes = train(
        job, recorded(job),
        [&](const std::vector<RankRecord>& records) {
          check_equal(records.size(), 3U, "records");
          testing::check_contains(records[1].ended, "lost: ");
          for (const std::size_t rank : {0, 2}) {
            check_equal(records[rank].ended, "", "why it ended");
            check(records[rank].journal.steps >= 3, "the others' steps");
          }
        },
        [](Rank rank, std::uint64_t batch) {
          if (rank == 1 && batch == 4) raise(SIGKILL);
        },
        true);
    EXPECT_TRUE(outcomes[0].good()) << strategy << ": " << outcomes[0].error;
    EXPECT_TRUE(outcomes[2].good()) << strategy << ": " << outcomes[2].error;
  }
}

// In the middle, and when it is about to write the files: the next worker gets the records of all others.
TEST(RecordCollector, TheNextWorkerTakesItWhenRankZeroDies) {
  sim::Simulation simulation = simulation_of("dpsgd", {}, 4);
  simulation.steps = 60;
  const Job job(simulation);
  for (const bool at_the_end : {false, true}) {
    SCOPED_TRACE(at_the_end);
    const auto look = [&](Rank rank, const std::vector<RankRecord>& records) {
      if (rank == 0) raise(SIGKILL);
      check_equal(rank, 1, "the next worker");
      check_equal(records.size(), std::size_t{4}, "records");
      testing::check_contains(records[0].ended, "lost");
      for (const std::size_t other : {1, 2, 3}) {
        check_equal(records[other].ended, "", "why it ended");
        check_equal(records[other].journal.steps, job.simulation.steps, "steps");
        check(!records[other].journal.spans.empty(), "spans");
      }
    };
    const Session::Options setting = recorded(job);
    const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
      JobSession own(job, net, setting);
      for (std::uint64_t batch = 1; own.session.next(); ++batch) {
        if (net.rank() == 0 && batch == 20 && !at_the_end) raise(SIGKILL);
        own.compute();
      }
      const std::vector<RankRecord> records = own.session.collect();
      if (!records.empty()) look(net.rank(), records);
      check_equal(!records.empty(), net.rank() == 1, "whether it has the records");
    });
    EXPECT_EQ(outcomes[0].signal, SIGKILL);
    for (const std::size_t rank : {1, 2, 3}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
  }
}

// An exception where the files are written is as a death.
TEST(RecordCollector, TheNextWorkerTakesItWhenRankZeroCannotWrite) {
  const Job job(simulation_of("dpsgd", {}, 3));
  const Session::Options setting = recorded(job);
  const auto outcomes = testing::run_ranks(job, setting, [&](transport::Transport& net) {
    JobSession own(job, net, setting);
    while (own.session.next()) own.compute();
    const std::vector<RankRecord> records = own.session.collect();
    check_equal(!records.empty(), net.rank() <= 1, "whether it has the records");
    if (net.rank() == 0) throw Error("the disk is full");
  });
  testing::check_contains(outcomes[0].error, "the disk is full");
  for (const std::size_t rank : {1, 2}) EXPECT_TRUE(outcomes[rank].good()) << outcomes[rank].error;
}

// Rank 0 fails alone: it does not wait for ranks that wait for it.
TEST(RecordCollector, RankZeroDoesNotWaitForThoseWhoWaitForIt) {
  class Fails final : public strategy::Strategy {
   public:
    runtime::Task<> run(strategy::Worker& self) const override {
      const bool more = co_await self.compute();
      testing::check(more, "a step");
      if (self.rank() == 0) throw InvalidArgument("on purpose");
      co_await self.net().recv(0, 1, {});
    }
  };
  Job job(simulation_of("allreduce", {}, 2));
  job.strategy = std::make_unique<Fails>();
  const auto outcomes = train(
      job, recorded(job),
      [](const std::vector<RankRecord>& records) {
        testing::check_contains(records[0].ended, "on purpose");
        testing::check_contains(records[1].ended, "not known");
      },
      [](Rank, std::uint64_t) {}, true);
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

TEST(RecordCollector, WithoutARecordNoSpansAreKept) {
  const Job job(simulation_of("ps", {{"server", "beside"}}, 2));
  const auto outcomes = testing::run_ranks(job, job.setting(), [&](transport::Transport& net) {
    JobSession own(job, net, job.setting());
    while (own.session.next()) own.compute();
    check(own.session.journal().spans.empty(), "no spans");
    check_equal(own.session.journal().steps, job.simulation.steps, "steps");
    check(own.session.collect().empty(), "no record");
  });
  for (const launch::Outcome& outcome : outcomes) EXPECT_TRUE(outcome.good()) << outcome.error;
}

}  // namespace
}  // namespace starling::session
