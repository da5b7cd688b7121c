#include "starling/record/wait_analysis.h"

#include <gtest/gtest.h>

#include "starling/core/error.h"
#include "tests/record/made_records.h"

namespace starling::record {

bool operator==(const ResolvedSpan& a, const ResolvedSpan& b) {
  return a.doing == b.doing && a.background == b.background && a.whom == b.whom && a.begin == b.begin &&
         a.end == b.end && a.detail == b.detail;
}
void PrintTo(const ResolvedSpan& piece, std::ostream* out) {
  *out << "{" << static_cast<int>(piece.doing) << (piece.background ? " background" : "") << " " << piece.whom
       << " " << piece.begin.time_since_epoch().count() << " to " << piece.end.time_since_epoch().count()
       << "}";
}

namespace {

ResolvedSpan piece(Doing doing, long long begin, long long end, Rank whom = kNobody) {
  return {doing, false, whom, at(begin), at(end)};
}
ResolvedSpan with(Detail detail, ResolvedSpan made) {
  made.detail = detail;
  return made;
}
using Pieces = std::vector<ResolvedSpan>;

TEST(WaitAnalysis, InAMeetingAllWaitForTheLast) {
  const WaitAnalysis waits = analyse_waits(make_run(20, {{compute(0, 10), meet(7, 10, 13)},
                                                         {compute(0, 2), meet(7, 2, 13), update(13, 14)},
                                                         {compute(0, 4), meet(7, 4, 14)}}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(0));
  EXPECT_EQ(waits.ranks[0].transferring, ms(3));
  EXPECT_EQ(waits.ranks[1].computing, ms(2));
  EXPECT_EQ(waits.ranks[1].waiting, ms(8));
  EXPECT_EQ(waits.ranks[1].transferring, ms(3));
  EXPECT_EQ(waits.ranks[1].updating, ms(1));
  EXPECT_EQ(waits.ranks[1].most_waited_for, 0);
  EXPECT_EQ(waits.ranks[2].waiting, ms(6));
  EXPECT_EQ(waits.ranks[0].blame, ms(14));
  EXPECT_EQ(waits.most_waited_for, 0);
  EXPECT_EQ(waits.pieces[2], (Pieces{piece(Doing::kCompute, 0, 4), piece(Doing::kWait, 4, 10, 0),
                                     piece(Doing::kTransfer, 10, 14)}));
}

TEST(WaitAnalysis, WhoGivesUpBeforeTheLastComesWaitedAllTheTime) {
  const WaitAnalysis waits = analyse_waits(make_run(20, {{meet(1, 0, 5)}, {compute(0, 9), meet(1, 9, 10)}}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(5));
  EXPECT_EQ(waits.ranks[0].transferring, ms(0));
}

TEST(WaitAnalysis, AMeetingWithoutLengthCounts) {
  const WaitAnalysis waits = analyse_waits(make_run(20, {{meet(1, 0, 5)}, {compute(0, 5), meet(1, 5, 5)}}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(5));
  EXPECT_EQ(waits.most_waited_for, 1);
}

TEST(WaitAnalysis, ARankComesToAMeetingWhenItsFirstSpanBegins) {
  // Rank 0 begins the exchange beside its computing and then waits for its end.
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{compute(0, 8), in_background(meet(1, 2, 12)), meet(1, 8, 12)},
                                  {compute(0, 10), meet(1, 10, 12)}}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(2));
  EXPECT_EQ(waits.ranks[0].transferring, ms(2));
  EXPECT_EQ(waits.ranks[1].waiting, ms(0));
  EXPECT_EQ(waits.ranks[1].blame, ms(2));
  const ResolvedSpan behind{Doing::kWait, true, 1, at(2), at(10)};
  EXPECT_EQ(waits.pieces[0][3], behind);
}

TEST(WaitAnalysis, AMessageIsWaitedForWhileItsSenderWorks) {
  const WaitAnalysis waits = analyse_waits(make_run(20, {{wait(1, 2, 12)}, {compute(0, 5), update(6, 9)}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kWait, 2, 5, 1), piece(Doing::kTransfer, 5, 6),
                                     piece(Doing::kWait, 6, 9, 1), piece(Doing::kTransfer, 9, 12)}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(6));
  EXPECT_EQ(waits.ranks[0].transferring, ms(4));
}

TEST(WaitAnalysis, BlameGoesDownTheChain) {
  const WaitAnalysis waits = analyse_waits(make_run(20, {{wait(1, 0, 12)},
                                                         {compute(0, 2), wait(2, 2, 10), compute(10, 11)},
                                                         {compute(0, 3), wait(3, 3, 9)},
                                                         {serve(2, 0, 8)}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kWait, 0, 2, 1), piece(Doing::kWait, 2, 3, 2),
                                     piece(Doing::kWait, 3, 8, 3), piece(Doing::kTransfer, 8, 10),
                                     piece(Doing::kWait, 10, 11, 1), piece(Doing::kTransfer, 11, 12)}));
  EXPECT_EQ(waits.ranks[0].most_waited_for, 3);
  EXPECT_EQ(waits.ranks[1].most_waited_for, 3);
  EXPECT_EQ(waits.ranks[3].blame, ms(15));
  EXPECT_EQ(waits.most_waited_for, 3);
}

TEST(WaitAnalysis, WhoComesLastBecauseOfAnotherPassesTheBlameOn) {
  // Pairs meet: 1 is late for 0 because it met 2 first, which was slow.
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{compute(0, 1), meet(6, 1, 14)},
                                  {compute(0, 2), meet(5, 2, 11), compute(11, 13), meet(6, 13, 14)},
                                  {compute(0, 10), meet(5, 10, 11)}}));
  EXPECT_EQ(waits.pieces[0],
            (Pieces{piece(Doing::kCompute, 0, 1), piece(Doing::kWait, 1, 2, 1), piece(Doing::kWait, 2, 10, 2),
                    piece(Doing::kWait, 10, 13, 1), piece(Doing::kTransfer, 13, 14)}));
  EXPECT_EQ(waits.most_waited_for, 2);
}

TEST(WaitAnalysis, BlameGoesThroughMeetings) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{wait(1, 0, 12)}, {meet(5, 0, 11)}, {compute(0, 8), meet(5, 8, 11)}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kWait, 0, 8, 2), piece(Doing::kTransfer, 8, 12)}));
}

TEST(WaitAnalysis, ACircleIsTransfer) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{wait(1, 0, 10)}, {wait(2, 0, 10)}, {wait(0, 0, 10)}}));
  for (const RankTimes& times : waits.ranks) {
    EXPECT_EQ(times.waiting, ms(0));
    EXPECT_EQ(times.transferring, ms(10));
    EXPECT_EQ(times.most_waited_for, kNobody);
  }
  EXPECT_FALSE(waits.most_waited_for);
}

TEST(WaitAnalysis, NobodyWaitsForItselfOrForStrangers) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{wait(0, 0, 5), wait(99, 5, 7), wait(kNobody, 7, 8)}}));
  EXPECT_EQ(waits.ranks[0].transferring, ms(8));
  EXPECT_EQ(waits.ranks[0].waiting, ms(0));
}

TEST(WaitAnalysis, WhoIsHeldWaitsForTheReason) {
  // Rank 2 trains and serves: what it computes meanwhile is not why rank 0 waits.
  const WaitAnalysis waits = analyse_waits(make_run(
      20, {{wait(2, 0, 10)}, {compute(0, 20)}, {compute(0, 20), hold(0, 1, 1, 8), hold(1, 0, 8, 9)}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kWait, 0, 1, 2), piece(Doing::kWait, 1, 8, 1),
                                     piece(Doing::kWait, 8, 10, 2)}));
}

TEST(WaitAnalysis, AHoldThatEndedBeforeTheWaitIsNone) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{wait(1, 10, 12)}, {hold(0, 2, 1, 8), hold(0, 2, 15, 20)}, {}}));
  EXPECT_EQ(waits.ranks[0].transferring, ms(2));
}

TEST(WaitAnalysis, HoldsReachThroughChainsAndNotBack) {
  const WaitAnalysis waits = analyse_waits(make_run(
      20, {{wait(1, 0, 10)}, {wait(2, 0, 10)}, {hold(1, 3, 0, 4), hold(1, 0, 4, 6), hold(1, 2, 6, 7)}, {}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kWait, 0, 4, 3), piece(Doing::kTransfer, 4, 6),
                                     piece(Doing::kWait, 6, 7, 2), piece(Doing::kTransfer, 7, 10)}));
  EXPECT_EQ(waits.pieces[1][1], piece(Doing::kWait, 4, 6, 0));
}

TEST(WaitAnalysis, WhatGoesOnInTheBackgroundDoesNotCount) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{compute(0, 10), in_background(wait(1, 0, 10)), wait(1, 10, 12)},
                                  {in_background(serve(0, 0, 20)), compute(0, 5)}}));
  EXPECT_EQ(waits.ranks[0].computing, ms(10));
  EXPECT_EQ(waits.ranks[0].waiting, ms(0));
  EXPECT_EQ(waits.ranks[0].transferring, ms(2));
  EXPECT_EQ(waits.ranks[1].serving, ms(0));
  const ResolvedSpan behind{Doing::kWait, true, 1, at(0), at(5)};
  EXPECT_EQ(waits.pieces[0][2], behind);
}

TEST(WaitAnalysis, WorkGoesBeforeWaitingWhereARankDoesBoth) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{serve(1, 3, 4), wait(1, 0, 10), serve(1, 8, 12)}, {}}));
  EXPECT_EQ(waits.pieces[0], (Pieces{piece(Doing::kTransfer, 0, 3), piece(Doing::kServe, 3, 4, 1),
                                     piece(Doing::kTransfer, 4, 8), piece(Doing::kServe, 8, 12, 1)}));
}

// Codes are made and read in the middle of an exchange.
TEST(WaitAnalysis, CodingIsAPartOfItsOwn) {
  const WaitAnalysis waits = analyse_waits(
      make_run(20, {{compute(0, 2), span(Activity::kCode, 2, 5), wait(1, 4, 10), span(Activity::kCode, 7, 8)},
                    {compute(0, 6)}}));
  EXPECT_EQ(waits.ranks[0].coding, ms(4));
  EXPECT_EQ(waits.ranks[0].waiting, ms(1));
  EXPECT_EQ(waits.ranks[0].transferring, ms(3));
}

TEST(WaitAnalysis, OnlyTheTimeBetweenBeginAndEndCounts) {
  record::RunRecord run = make_run(20, {{wait(1, 0, 10)}, {compute(0, 10)}});
  run.ranks[0].begin = at(2);
  run.ranks[0].end = at(7);
  const WaitAnalysis waits = analyse_waits(run);
  EXPECT_EQ(waits.ranks[0].waiting, ms(5));
  EXPECT_EQ(waits.ranks[1].blame, ms(5));
}

TEST(WaitAnalysis, ServicesBlameNobody) {
  record::RunRecord run = make_run(20, {{compute(0, 10)}, {wait(0, 0, 10)}});
  run.ranks[1].trains = false;
  const WaitAnalysis waits = analyse_waits(run);
  EXPECT_EQ(waits.ranks[1].waiting, ms(10));
  EXPECT_EQ(waits.ranks[0].blame, ms(0));
  EXPECT_FALSE(waits.most_waited_for);
}

TEST(WaitAnalysis, OfEqualsTheLowestIsWaitedForMost) {
  const WaitAnalysis waits =
      analyse_waits(make_run(20, {{wait(2, 0, 5), wait(1, 5, 10)}, {compute(0, 20)}, {compute(0, 20)}}));
  EXPECT_EQ(waits.ranks[0].most_waited_for, 1);
  EXPECT_EQ(waits.most_waited_for, 1);
}

TEST(WaitAnalysis, LongChainsEndSomewhere) {
  std::vector<std::vector<Span>> journals;
  for (Rank rank = 0; rank < 200; ++rank) journals.push_back({wait(rank + 1, 0, 10)});
  journals.push_back({compute(0, 10)});
  const WaitAnalysis waits = analyse_waits(make_run(10, journals));
  EXPECT_EQ(waits.ranks[0].most_waited_for, 64);
  EXPECT_EQ(waits.ranks[0].waiting, ms(10));
  EXPECT_EQ(waits.ranks[199].most_waited_for, 200);
}

TEST(WaitAnalysis, ServicesThatAreBusyOffAndOnAreSummedUp) {
  std::vector<Span> served;
  for (int i = 0; i < 100; ++i) served.push_back(serve(0, 10 * i, 10 * i + 3));
  const WaitAnalysis waits = analyse_waits(make_run(1000, {{wait(1, 1, 992)}, served}));
  EXPECT_EQ(waits.ranks[0].waiting, ms(300 - 1 - 1));
  EXPECT_EQ(waits.ranks[0].transferring, ms(991 - 298));
  EXPECT_EQ(waits.pieces[0].size(), 2U);
}

TEST(WaitAnalysis, RefusesRanksOutOfPlace) {
  record::RunRecord run = make_run(1, {{}, {}});
  run.ranks[1].rank = 5;
  EXPECT_THROW(analyse_waits(run), Error);
}

TEST(WaitAnalysis, ARunWithoutRanksIsARun) {
  EXPECT_FALSE(analyse_waits(record::RunRecord{}).most_waited_for);
}

TEST(WaitAnalysis, PiecesHaveTheDetailOfTheirSpan) {
  using Kind = Detail::Kind;
  const Detail forward{Kind::kForward, 2, 0, 3};
  const Detail scatter{Kind::kReduceScatter, 2, 1, 3};
  const Detail gather{Kind::kAllGather, 2, 1, 3};
  const record::RunRecord run = make_run(
      30,
      {{about(Kind::kForward, 2, 0, 3, compute(0, 4)), about(Kind::kReduceScatter, 2, 1, 3, meet(1, 4, 10)),
        about(Kind::kAllGather, 2, 1, 3, in_background(meet(2, 10, 20))), update(20, 21)},
       {compute(0, 7), about(Kind::kReduceScatter, 2, 1, 3, meet(1, 7, 10)), compute(10, 15),
        about(Kind::kAllGather, 2, 1, 3, meet(2, 15, 20))}});
  ResolvedSpan wait_in_background = with(gather, piece(Doing::kWait, 10, 15, 1));
  ResolvedSpan transfer_in_background = with(gather, piece(Doing::kTransfer, 15, 20));
  wait_in_background.background = transfer_in_background.background = true;
  const Pieces expected = {with(forward, piece(Doing::kCompute, 0, 4)),
                           with(scatter, piece(Doing::kWait, 4, 7, 1)),
                           with(scatter, piece(Doing::kTransfer, 7, 10)),
                           piece(Doing::kUpdate, 20, 21),
                           wait_in_background,
                           transfer_in_background};
  EXPECT_EQ(analyse_waits(run).pieces[0], expected);
}

TEST(WaitAnalysis, CollectivesBesideEachOtherAreSeenAsAWhole) {
  const Detail high{Detail::Kind::kReduceScatter, 1, 2, 4};
  const Detail low{Detail::Kind::kReduceScatter, 1, 1, 2};
  const Detail lowest{Detail::Kind::kReduceScatter, 1, 0, 1};
  const auto background = [](ResolvedSpan made) {
    made.background = true;
    return made;
  };
  std::vector<Span> spans = {meet(2, 2, 5), meet(1, 0, 8), meet(3, 4, 10)};
  spans[0].detail = low;
  spans[1].detail = high;
  spans[2].detail = lowest;
  const WaitAnalysis waits = analyse_waits(make_run(20, {spans}));
  const Pieces expected = {with(high, piece(Doing::kTransfer, 0, 8)),
                           with(lowest, piece(Doing::kTransfer, 8, 10)),
                           background(with(low, piece(Doing::kTransfer, 2, 5))),
                           background(with(lowest, piece(Doing::kTransfer, 4, 8)))};
  EXPECT_EQ(waits.pieces[0], expected);
  EXPECT_EQ(waits.ranks[0].transferring, ms(10));
}

TEST(WaitAnalysis, WhatComputingCoversOfACollectiveIsInTheBackground) {
  const Detail gather{Detail::Kind::kAllGather, 1, 0, 1};
  Span all = meet(1, 0, 10);
  all.detail = gather;
  const WaitAnalysis waits = analyse_waits(make_run(20, {{compute(3, 5), all}}));
  ResolvedSpan covered = with(gather, piece(Doing::kTransfer, 3, 5));
  covered.background = true;
  const Pieces expected = {with(gather, piece(Doing::kTransfer, 0, 3)), piece(Doing::kCompute, 3, 5),
                           with(gather, piece(Doing::kTransfer, 5, 10)), covered};
  EXPECT_EQ(waits.pieces[0], expected);
}

TEST(WaitAnalysis, PiecesOfDifferentDetailsAreNotMerged) {
  using Kind = Detail::Kind;
  const record::RunRecord run =
      make_run(20, {{about(Kind::kReduceScatter, 1, 1, 2, meet(1, 0, 4)),
                     about(Kind::kReduceScatter, 1, 0, 1, meet(2, 4, 8)), compute(8, 9)},
                    {compute(0, 8), meet(1, 8, 9), meet(2, 9, 10)}});
  const Pieces expected = {with({Kind::kReduceScatter, 1, 1, 2}, piece(Doing::kWait, 0, 4, 1)),
                           with({Kind::kReduceScatter, 1, 0, 1}, piece(Doing::kWait, 4, 8, 1)),
                           piece(Doing::kCompute, 8, 9)};
  EXPECT_EQ(analyse_waits(run).pieces[0], expected);
}

}  // namespace
}  // namespace starling::record
