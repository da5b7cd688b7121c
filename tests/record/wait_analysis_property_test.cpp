// Compares random runs with a second analysis of the waits: millisecond by millisecond.
#include <gtest/gtest.h>

#include <map>

#include "starling/core/random.h"
#include "starling/record/wait_analysis.h"
#include "tests/record/made_records.h"

namespace starling::record {
namespace {

constexpr long long kEnd = 60;

bool covers(const Span& span, long long t) { return span.begin <= at(t) && at(t) < span.end; }

class Oracle {
 public:
  explicit Oracle(const RunRecord& run) : run_(run) {}

  const Span* own(Rank rank, long long t) const {
    for (const Span& span : spans(rank)) {
      if (!span.background && span.activity != Activity::kHold && covers(span, t)) return &span;
    }
    return nullptr;
  }

  Rank last_of(const Span& meeting) const {
    Rank last = kNobody;
    for (const RankRecord& record : run_.ranks) {
      const Span* const came = first_of(record.rank, meeting.meeting);
      if (came != nullptr && (last == kNobody || came->begin > first_of(last, meeting.meeting)->begin)) {
        last = record.rank;
      }
    }
    return last;
  }

  // The rank for which a member of this meeting still waits at t.
  Rank missing(const Span& meeting, long long t) const {
    const Rank last = last_of(meeting);
    return at(t) < first_of(last, meeting.meeting)->begin ? last : kNobody;
  }

  // The rank to blame when the last of the chain waits for `whom`; kNobody: transfer.
  Rank blamed(std::vector<Rank> chain, Rank whom, long long t) const {
    if (whom < 0 || static_cast<std::size_t>(whom) >= run_.ranks.size()) return kNobody;
    if (std::find(chain.begin(), chain.end(), whom) != chain.end()) return kNobody;
    for (const Span& span : spans(whom)) {
      if (span.activity != Activity::kHold || span.whom != chain.back() || !covers(span, t)) continue;
      return std::find(chain.begin(), chain.end(), span.because) != chain.end() ? kNobody : span.because;
    }
    const Span* const doing = own(whom, t);
    if (doing == nullptr) return kNobody;
    chain.push_back(whom);
    if (doing->activity == Activity::kWait) return blamed(chain, doing->whom, t);
    if (doing->activity == Activity::kMeet) return blamed(chain, missing(*doing, t), t);
    return whom;
  }

 private:
  const std::vector<Span>& spans(Rank rank) const {
    return run_.ranks[static_cast<std::size_t>(rank)].journal.spans;
  }
  const Span* first_of(Rank rank, std::uint64_t meeting) const {
    const Span* first = nullptr;
    for (const Span& span : spans(rank)) {
      if (span.activity != Activity::kMeet || span.meeting != meeting) continue;
      if (first == nullptr || span.begin < first->begin) first = &span;
    }
    return first;
  }

  const RunRecord& run_;
};

Span random_span(Random& random, int ranks, long long begin, long long end) {
  switch (random.between(0, 5)) {
    case 0:
      return compute(begin, end);
    case 1:
      return update(begin, end);
    case 2:
      return serve(random.between(0, ranks - 1), begin, end);
    case 3:
      return meet(random.below(4), begin, end);
    default:
      return wait(random.between(-1, ranks), begin, end);
  }
}

std::vector<Span> random_journal(Random& random, Rank rank, int ranks) {
  std::vector<Span> spans;
  for (long long t = random.between(0, 5); t < kEnd;) {
    const long long end = std::min<long long>(kEnd, t + random.between(1, 12));
    Span made = random_span(random, ranks, t, end);
    made.background = random.chance(0.1);
    spans.push_back(made);
    t = end + (random.chance(0.5) ? 0 : random.between(1, 4));
  }
  // The holds of one rank do not overlap, because the oracle takes the first it finds.
  for (Rank whom = 0; whom < ranks; ++whom) {
    if (whom == rank || !random.chance(0.3)) continue;
    const int begin = random.between(0, 40);
    spans.push_back(hold(whom, random.between(0, ranks - 1), begin, begin + random.between(1, 10)));
  }
  std::stable_sort(spans.begin(), spans.end(), [](const Span& a, const Span& b) { return a.end < b.end; });
  return spans;
}

RunRecord random_run(Random& random) {
  const int ranks = random.between(1, 7);
  std::vector<std::vector<Span>> journals;
  for (Rank rank = 0; rank < ranks; ++rank) journals.push_back(random_journal(random, rank, ranks));
  return make_run(kEnd, journals);
}

void compare(const RunRecord& run, const WaitAnalysis& waits, Rank rank) {
  const Oracle oracle(run);
  std::map<Rank, Duration> expected;
  Duration transfer{};
  for (long long t = 0; t < kEnd; ++t) {
    const Span* const doing = oracle.own(rank, t);
    if (doing == nullptr) continue;
    const bool waits_now = doing->activity == Activity::kWait;
    if (!waits_now && doing->activity != Activity::kMeet) continue;
    const Rank direct = waits_now ? doing->whom : oracle.missing(*doing, t);
    Rank whom = oracle.blamed({rank}, direct, t);
    if (!waits_now && whom == kNobody && direct != rank) whom = direct;
    if (whom == kNobody) {
      transfer += ms(1);
    } else {
      expected[whom] += ms(1);
    }
  }
  const RankTimes& times = waits.ranks[static_cast<std::size_t>(rank)];
  std::map<Rank, Duration> found;
  for (const WaitedFor& item : times.waited_for) found[item.whom] = item.time;
  EXPECT_EQ(found, expected) << "rank " << rank;
  EXPECT_EQ(times.transferring, transfer) << "rank " << rank;
}

TEST(WaitsProperty, AgreesWithLookingAtEveryMoment) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    const record::RunRecord run = random_run(random);
    const WaitAnalysis waits = analyse_waits(run);
    for (const RankRecord& record : run.ranks) compare(run, waits, record.rank);
    if (HasFailure()) return;
  }
}

TEST(WaitsProperty, NoTimeIsCountedTwice) {
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(seed);
    Random random(seed);
    record::RunRecord run = random_run(random);
    // Overlapping spans, as of ranks that train and serve.
    for (RankRecord& record : run.ranks) {
      const auto other = random_journal(random, record.rank, static_cast<int>(run.ranks.size()));
      record.journal.spans.insert(record.journal.spans.end(), other.begin(), other.end());
    }
    const WaitAnalysis waits = analyse_waits(run);
    Duration waited{};
    Duration blame{};
    for (std::size_t i = 0; i < run.ranks.size(); ++i) {
      const RankTimes& times = waits.ranks[i];
      EXPECT_LE(times.computing + times.updating + times.waiting + times.transferring + times.serving +
                    times.coding,
                ms(kEnd));
      Duration sum{};
      for (const WaitedFor& item : times.waited_for) sum += item.time;
      EXPECT_EQ(sum, times.waiting);
      waited += times.waiting;
      blame += times.blame;
    }
    EXPECT_EQ(waited, blame);
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace starling::record
