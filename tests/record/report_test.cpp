#include "starling/record/report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/record/made_records.h"

namespace starling::record {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string report(const RunRecord& run) { return report_text(run, analyse_waits(run)); }

// `slow` computes for 80 ms while the others wait; all exchange for 20 ms.
RunRecord straggling(int workers, int slow) {
  std::vector<std::vector<Span>> journals;
  for (int i = 0; i < workers; ++i) {
    const long long ready = i == slow ? 80 : 20;
    journals.push_back({compute(0, ready), meet(1, ready, 100)});
  }
  record::RunRecord run = make_run(100, journals);
  for (RankRecord& record : run.ranks) {
    record.journal.steps = 10;
    record.journal.samples = 320;
    record.bytes_sent = 1 << 21;
  }
  return run;
}

TEST(Report, ShowsEveryWorker) {
  record::RunRecord run = straggling(3, 0);
  run.final_train_loss = 0.12345;
  run.final_accuracy = 0.934;
  run.has_target = true;
  run.time_to_target = ms(42);
  run.ranks[2].ended = "killed at 0.1 s";
  EXPECT_EQ(report(run),
            "worker   steps  samples/s  computing  waiting    most for  transfer       sent\n"
            "     0      10       3200       80 %      0 %           -      20 %      2 MiB\n"
            "     1      10       3200       20 %     60 %    worker 0      20 %      2 MiB\n"
            "     2      10       3200       20 %     60 %    worker 0      20 %      2 MiB\n"
            "\n"
            "made-up, simulated: 100 ms, 960 samples, 9600 samples/s\n"
            "final loss 0.123, accuracy 93 %, target reached after 42 ms\n"
            "everyone waits for worker 0: 60 % of the others' time\n"
            "worker 2: killed at 0.1 s\n");
}

TEST(Report, TellsStalenessAndLocksWhereThereAreAny) {
  record::RunRecord run = straggling(2, 0);
  EXPECT_THAT(report(run), Not(HasSubstr("staleness")));
  EXPECT_THAT(report(run), Not(HasSubstr("locks")));
  for (std::uint64_t i = 0; i < 100; ++i) run.ranks[0].journal.staleness.note(i < 60 ? 1 : i < 99 ? 3 : 40);
  run.ranks[0].journal.lock_waits.note(ms(20));
  run.ranks[1].journal.lock_waits.note(Duration{});
  run.record = RecordMode::kOff;  // counted all the same
  EXPECT_THAT(report(run), HasSubstr("\nstaleness: p50 1, p99 3, max 40\n"
                                     "waiting for locks: 10 % of the workers' time; 1 of 2 were held\n"));
}

TEST(Report, AWaitThatRoundsToNothingHasNoCulprit) {
  const record::RunRecord run =
      make_run(1000, {{compute(0, 800), meet(1, 800, 1000)}, {compute(0, 796), meet(1, 796, 1000)}});
  EXPECT_THAT(report(run), HasSubstr("     1       0          0       80 %      0 %           -      20 %"));
}

TEST(Report, ColumnsStayApart) {
  record::RunRecord run = straggling(2, 0);
  run.ranks[1].journal.steps = 123'456'789'012;
  EXPECT_THAT(report(run), HasSubstr("\n     1 123456789012       3200 "));
}

TEST(Report, SaysWhenNobodyHoldsTheOthersUp) {
  const record::RunRecord run =
      make_run(100, {{compute(0, 80), meet(1, 80, 100)}, {compute(0, 78), meet(1, 78, 100)}});
  EXPECT_THAT(report(run), HasSubstr("no worker holds the others up\n"));
  EXPECT_THAT(report(make_run(10, {{compute(0, 10)}})), HasSubstr("no worker holds the others up\n"));
  EXPECT_THAT(report(record::RunRecord{}), HasSubstr("no worker holds the others up\n"));
}

TEST(Report, SaysWhenManyHoldTheOthersUpALittle) {
  std::vector<std::vector<Span>> journals(40);
  for (int i = 0; i < 40; ++i) {
    for (int step = 0; step < 40; ++step) {
      const long long begin = 10 * step;
      const long long ready = begin + (step == i ? 10 : 7);
      const auto name = static_cast<std::uint64_t>(step);
      journals[static_cast<std::size_t>(i)].push_back(compute(begin, ready));
      journals[static_cast<std::size_t>(i)].push_back(meet(name, ready, begin + 10));
    }
  }
  EXPECT_THAT(report(make_run(400, journals)),
              HasSubstr("the workers wait 29 % of their time, for many in turn\n"));
}

TEST(Report, CountsThoseWhoWait) {
  const record::RunRecord run = make_run(100, {{compute(0, 100)}, {wait(0, 0, 90)}, {compute(0, 100)}});
  EXPECT_THAT(report(run), HasSubstr("1 of 2 others wait for worker 0: 45 % of the others' time\n"));
}

TEST(Report, ServicesMayBeWaitedFor) {
  record::RunRecord run = make_run(100, {{wait(1, 0, 50)}, {serve(0, 0, 50)}});
  run.ranks[1].trains = false;
  EXPECT_THAT(report(run), HasSubstr("everyone waits for service 1: 50 % of the others' time\n"));
}

TEST(Report, LeavesOutMostOfMany) {
  EXPECT_THAT(report(straggling(24, 3)), Not(HasSubstr("left out")));
  const std::string text = report(straggling(1000, 500));
  EXPECT_THAT(text, HasSubstr("983 of 1000 workers are left out.\n"));
  EXPECT_THAT(text, HasSubstr("\n     7 "));
  EXPECT_THAT(text, HasSubstr("\n   ...\n   500 "));
  EXPECT_THAT(text, HasSubstr("\n   ...\n   992 "));
  EXPECT_THAT(text, Not(HasSubstr("\n     8 ")));
  EXPECT_THAT(text, HasSubstr("\n   999 "));
}

TEST(Report, TellsDivergenceAndMissedTargets) {
  record::RunRecord run = straggling(2, 0);
  run.has_target = true;
  run.losses.push_back({at(1), 1, 1e308 * 10, {}});
  EXPECT_THAT(report(run), HasSubstr("diverged: the loss is no longer a number, target not reached\n"));
}

TEST(Report, ListsAFewOfThoseThatEndedBadly) {
  record::RunRecord run = straggling(10, 0);
  for (RankRecord& record : run.ranks) record.ended = "killed at 1 s";
  EXPECT_THAT(report(run), HasSubstr("worker 4: killed at 1 s\nand 5 more that did not end well\n"));
}

}  // namespace
}  // namespace starling::record
