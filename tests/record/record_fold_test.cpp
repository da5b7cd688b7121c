// The sums of a run are the same with any limit, and what is kept stays within it.
#include "starling/record/record_fold.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "starling/core/error.h"
#include "starling/core/random.h"
#include "starling/record/wait_analysis.h"
#include "tests/record/made_records.h"

namespace starling::record {
namespace {

constexpr int kRanks = 4;
constexpr std::size_t kLimit = 512;
constexpr RecordPlan kSmall{RecordMode::kFull, kLimit};
constexpr RecordPlan kSums{RecordMode::kSummary, kLimit};

// Steps in lockstep: every rank computes for a while, meets the others, and waits for a message of a
// neighbour that computes meanwhile. A service beside rank 0 holds rank 1 because of rank 2.
RunRecord lockstep_run(int steps) {
  Random random(7);
  std::vector<std::vector<Span>> journals(kRanks);
  long long now = 0;
  for (int step = 0; step < steps; ++step) {
    std::vector<long long> ready;
    for (int rank = 0; rank < kRanks; ++rank)
      ready.push_back(now + 1 + static_cast<long long>(random.below(20)));
    const long long met = *std::max_element(ready.begin(), ready.end());
    const auto meeting = static_cast<std::uint64_t>(step) + 1;
    for (int rank = 0; rank < kRanks; ++rank) {
      std::vector<Span>& journal = journals[static_cast<std::size_t>(rank)];
      const long long arrived = ready[static_cast<std::size_t>(rank)];
      journal.push_back(compute(now, arrived));
      journal.push_back(meet(meeting, arrived, met + 3));
      if (rank == 3) journal.push_back(update(met + 3, met + 8));
      if (rank != 3) journal.push_back(wait(rank + 1, met + 3, met + 8));
    }
    journals[0].push_back(hold(1, 2, met + 4, met + 6));
    now = met + 8;
  }
  return make_run(now, journals);
}

// Hands the spans over in rounds, as a run does: each round has what ended since the one before.
class Replayed {
 public:
  Replayed(const RunRecord& run, const RecordPlan& plan, Duration round) : fold_(plan, run.ranks.size()) {
    result_ = run;
    for (RankRecord& record : result_.ranks) record.journal.spans.clear();
    const Time end(run.duration);
    Time begin{};
    for (; begin + round < end; begin += round) {
      hand_over(run, begin, begin + round);
      fold_.close_round(begin + round);
      most_kept_ = std::max(most_kept_, fold_.kept());
    }
    hand_over(run, begin, end);
    fold_.finish(result_.ranks);
  }

  const RunRecord& result() const { return result_; }
  std::size_t most_kept() const { return most_kept_; }

 private:
  void hand_over(const RunRecord& run, Time from, Time to) {
    for (const RankRecord& record : run.ranks) {
      std::vector<Span> part;
      for (const Span& span : record.journal.spans) {
        if (span.end > from && span.end <= to) part.push_back(span);
      }
      result_.ranks[static_cast<std::size_t>(record.rank)].journal.handed += part.size();
      fold_.add(record.rank, part);
    }
  }

  RecordFold fold_;
  RunRecord result_;
  std::size_t most_kept_ = 0;
};

void expect_equal(const RankTimes& a, const RankTimes& b) {
  EXPECT_EQ(a.computing, b.computing);
  EXPECT_EQ(a.updating, b.updating);
  EXPECT_EQ(a.waiting, b.waiting);
  EXPECT_EQ(a.transferring, b.transferring);
  EXPECT_EQ(a.serving, b.serving);
  EXPECT_EQ(a.coding, b.coding);
  EXPECT_EQ(a.blame, b.blame);
  EXPECT_EQ(a.most_waited_for, b.most_waited_for);
  EXPECT_EQ(a.unattributed, b.unattributed);
  ASSERT_EQ(a.waited_for.size(), b.waited_for.size());
  for (std::size_t i = 0; i < a.waited_for.size(); ++i) {
    EXPECT_EQ(a.waited_for[i].whom, b.waited_for[i].whom);
    EXPECT_EQ(a.waited_for[i].time, b.waited_for[i].time);
  }
}

void expect_same_sums(const RunRecord& a, const RunRecord& b) {
  const WaitAnalysis first = analyse_waits(a);
  const WaitAnalysis second = analyse_waits(b);
  EXPECT_EQ(first.most_waited_for, second.most_waited_for);
  ASSERT_EQ(first.ranks.size(), second.ranks.size());
  for (std::size_t i = 0; i < first.ranks.size(); ++i) {
    SCOPED_TRACE(i);
    expect_equal(first.ranks[i], second.ranks[i]);
  }
}

TEST(RecordFold, SumsAreExactAndSpansAreFew) {
  const RunRecord run = lockstep_run(2000);
  for (const RecordPlan& plan : {kSmall, kSums}) {
    for (const long long round : {37, 61, 100}) {  // between steps and within them
      SCOPED_TRACE(text_of(plan) + " " + std::to_string(round));
      const Replayed bounded(run, plan, ms(round));
      expect_same_sums(run, bounded.result());
      EXPECT_TRUE(bounded.result().ranks[0].folded.any());
      EXPECT_LE(bounded.most_kept(), kRanks * kLimit);
    }
  }
}

// A collective that begins beside the backward pass and ends after it is two spans of the same meeting.
TEST(RecordFold, AMeetingInTwoSpansBeginsWithTheFirst) {
  std::vector<std::vector<Span>> journals(2);
  for (int step = 0; step < 2000; ++step) {
    const long long begin = 40LL * step;
    const auto meeting = static_cast<std::uint64_t>(step) + 1;
    journals[0].push_back(compute(begin, begin + 20));
    journals[0].push_back(in_background(meet(meeting, begin + 5, begin + 20)));
    journals[0].push_back(meet(meeting, begin + 20, begin + 40));
    journals[1].push_back(compute(begin, begin + 12));
    journals[1].push_back(meet(meeting, begin + 12, begin + 40));
  }
  const RunRecord run = make_run(80'000, journals);
  for (const long long round : {37, 61, 100}) {
    SCOPED_TRACE(round);
    expect_same_sums(run, Replayed(run, kSmall, ms(round)).result());
  }
}

// A wait may be noted under the number of the meeting before it.
TEST(RecordFold, AWaitAfterAMeetingBelongsToIt) {
  std::vector<std::vector<Span>> journals(2);
  for (int step = 0; step < 2000; ++step) {
    const long long begin = 40LL * step;
    const auto meeting = static_cast<std::uint64_t>(step) + 1;
    for (int rank = 0; rank < 2; ++rank) {
      std::vector<Span>& journal = journals[static_cast<std::size_t>(rank)];
      journal.push_back(meet(meeting, begin + rank, begin + 10));
      journal.push_back(meet(meeting, begin + 15 + 5 * rank, begin + 30));
    }
  }
  const RunRecord run = make_run(80'000, journals);
  for (const long long round : {97, 161, 200}) {
    SCOPED_TRACE(round);
    expect_same_sums(run, Replayed(run, kSmall, ms(round)).result());
  }
}

TEST(RecordFold, KeepsTheSameHoweverLongTheRun) {
  const Replayed shorter(lockstep_run(500), kSmall, ms(61));
  const Replayed longer(lockstep_run(5000), kSmall, ms(61));
  EXPECT_LT(longer.most_kept(), shorter.most_kept() + shorter.most_kept() / 10);
}

TEST(RecordFold, AShortRunKeepsAll) {
  const RunRecord run = lockstep_run(10);
  const Replayed bounded(run, kSmall, ms(37));
  expect_same_sums(run, bounded.result());
  for (std::size_t i = 0; i < run.ranks.size(); ++i) {
    EXPECT_FALSE(bounded.result().ranks[i].folded.any());
    EXPECT_EQ(bounded.result().ranks[i].journal.spans.size(), run.ranks[i].journal.spans.size());
  }
}

// The beginning in detail, the end in detail, nothing between, and every span counted once.
TEST(RecordFold, KeepsTheBeginningAndTheEnd) {
  const RunRecord run = lockstep_run(2000);
  const Replayed bounded(run, kSmall, ms(61));
  const RankRecord& record = bounded.result().ranks[0];
  EXPECT_EQ(record.journal.spans.front().begin, Time{});
  EXPECT_EQ(bounded.result().ranks[1].journal.spans.back().end, Time(run.duration));
  EXPECT_EQ(record.journal.spans.size() + record.folded.spans, run.ranks[0].journal.spans.size());
  const WaitAnalysis waits = analyse_waits(bounded.result());
  for (const ResolvedSpan& piece : waits.pieces[0]) {
    EXPECT_TRUE(piece.end <= record.folded.from || piece.begin >= record.folded.to);
  }
}

// What is shown in detail is what a run without a limit shows.
TEST(RecordFold, DetailIsTheSame) {
  const RunRecord run = lockstep_run(2000);
  const Replayed bounded(run, kSmall, ms(61));
  const FoldedSpans& folded = bounded.result().ranks[0].folded;
  const WaitAnalysis all = analyse_waits(run);
  const WaitAnalysis some = analyse_waits(bounded.result());
  for (std::size_t rank = 0; rank < run.ranks.size(); ++rank) {
    std::vector<ResolvedSpan> expected;
    for (const ResolvedSpan& piece : all.pieces[rank]) {
      if (piece.end <= folded.from || piece.begin >= folded.to) expected.push_back(piece);
    }
    std::size_t found = 0;
    for (const ResolvedSpan& piece : some.pieces[rank]) {
      if (found == expected.size() || piece.begin != expected[found].begin) continue;  // it was cut
      EXPECT_EQ(piece.end, expected[found].end);
      EXPECT_EQ(piece.doing, expected[found].doing);
      EXPECT_EQ(piece.whom, expected[found].whom);
      ++found;
    }
    EXPECT_EQ(found, expected.size());
  }
}

// A step that lasts longer than the rounds that are kept: the rank's own work is still exact.
TEST(RecordFold, ALateSpanCountsAsWork) {
  RunRecord run = make_run(10'000, {{compute(0, 10'000)}, {}});
  for (long long begin = 0; begin < 10'000; begin += 2) run.ranks[1].journal.add(compute(begin, begin + 1));
  const Replayed bounded(run, kSmall, ms(20));
  const WaitAnalysis waits = analyse_waits(bounded.result());
  EXPECT_EQ(waits.ranks[0].computing, ms(10'000));
  EXPECT_EQ(waits.ranks[1].computing, ms(5'000));
}

TEST(RecordFold, ALateWaitIsUnattributed) {
  RunRecord run = make_run(10'000, {{wait(1, 0, 10'000)}, {}});
  for (long long begin = 0; begin < 10'000; begin += 2) run.ranks[1].journal.add(compute(begin, begin + 1));
  const Replayed bounded(run, kSmall, ms(20));
  const RankTimes times = analyse_waits(bounded.result()).ranks[0];
  EXPECT_GT(times.unattributed, Duration{});
  EXPECT_EQ(times.waiting + times.transferring + times.unattributed, ms(10'000));
}

// Another rank collects the record in the middle of the run: it has none of the spans before.
TEST(RecordFold, SpansThatWereLostAreUnattributed) {
  RunRecord run = lockstep_run(100);
  RecordFold fold(kSmall, kRanks);
  for (RankRecord& record : run.ranks) record.journal.hand_over();
  fold.finish(run.ranks);
  const RunRecord whole = lockstep_run(100);
  const RankTimes expected = analyse_waits(whole).ranks[1];
  const RankTimes times = analyse_waits(run).ranks[1];
  EXPECT_EQ(run.ranks[1].folded.missing, whole.ranks[1].journal.spans.size());
  EXPECT_EQ(times.computing, expected.computing);
  EXPECT_EQ(times.waiting, Duration{});
  EXPECT_EQ(times.unattributed, expected.waiting + expected.transferring);
}

TEST(RecordPlan, ReadsAndWrites) {
  for (const char* text : {"full", "full:64", "full:1000000", "summary", "off"})
    EXPECT_EQ(text_of(parse_record_plan(text, "--record")), text);
  for (const char* text : {"", "none", "full:", "full:63", "full:x", "summary:5"})
    EXPECT_THROW(parse_record_plan(text, "--record"), InvalidArgument) << text;
}

TEST(RecordPlan, ManyRanksShareALimit) {
  EXPECT_EQ(span_limit({}, 1), 1U << 18);
  EXPECT_EQ(span_limit({}, 64), 1U << 15);
  EXPECT_EQ(span_limit({}, 100'000), 1024U);
  EXPECT_EQ(span_limit(kSmall, 100'000), kLimit);
}

}  // namespace
}  // namespace starling::record
