#include "starling/coordination/group_table.h"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <map>

#include "starling/core/error.h"
#include "tests/coordination/group_tables.h"
#include "tests/support/check.h"

namespace starling::coordination {
namespace {

using testing::check;

// Workers that run groups in order, in any possible order of events: a worker that is done with a group goes
// on before the others are, and the first member's report arrives later than the next request. Impossible
// states throw.
class Workers {
 public:
  Workers(std::uint64_t seed, const GroupRules& rules, std::vector<int> host_of)
      : random_(seed), book_(host_of, make_policy(rules, random_.fork(1))), workers_(host_of.size()) {
    for (Worker& worker : workers_) worker.rounds = random_.between(0, 6);
  }

  // Until all have left.
  void run() {
    for (int idle = 0; gone_ < workers_.size();) {
      idle = act() ? 0 : idle + 1;
      if (idle > 200) pass_time();
    }
    for (const auto& [number, members] : running_) check(members.empty(), "a group has not ended");
  }

 private:
  struct Worker {
    enum class Does { kTrain, kWait, kRun, kGone };
    Does does = Does::kTrain;
    int rounds = 0;  // left
    std::uint64_t count = 0, finished = 0, told = 0;
    bool leaves = false, more = false;
    GroupTable::Answer answer;
  };
  using Does = Worker::Does;

  Time now() const { return at_ms(ms_); }
  Worker& at(Rank rank) { return workers_[static_cast<std::size_t>(rank)]; }

  // Something that can happen, or nothing.
  bool act() {
    if (random_.chance(0.2)) return hand_in();
    if (random_.chance(0.1)) {
      ++ms_;
      return look();
    }
    const Rank rank = random_.between(0, static_cast<int>(workers_.size()) - 1);
    if (at(rank).does == Does::kTrain) return ask(rank), true;
    return at(rank).does == Does::kRun && finish(rank);
  }

  // No worker can do anything before that time.
  void pass_time() {
    if (hand_in()) return;
    check(book_.due().has_value(), "somebody waits for ever");
    ms_ = std::max(
        ms_,
        static_cast<int>(
            std::chrono::duration_cast<std::chrono::milliseconds>(book_.due()->time_since_epoch()).count()));
    ms_ += 1;
    look();
  }

  bool look() {
    if (!book_.due() || *book_.due() > now()) return false;
    take(book_.look(now()));
    return true;
  }

  bool hand_in() {
    if (notes_.empty()) return false;
    book_.done(notes_.front(), now());
    notes_.pop_front();
    return true;
  }

  void ask(Rank rank) {
    Worker& worker = at(rank);
    GroupMessage note;
    worker.leaves = worker.leaves || (worker.rounds == 0 && !worker.more);
    if (!worker.leaves && !worker.more) {
      ++worker.count;
      --worker.rounds;
    }
    note.count = worker.count;
    note.finished = worker.finished;
    note.section = std::chrono::milliseconds(random_.between(0, 20));
    worker.does = Does::kWait;
    take(worker.leaves ? book_.leave(rank, note, now()) : book_.ask(rank, note, now()));
  }

  void take(const GroupTable::Answers& answers) {
    for (const GroupTable::Answer& answer : answers) {
      Worker& worker = at(answer.to);
      check(worker.does == Does::kWait, concat("worker ", answer.to, " is told what it did not ask"));
      worker.more = false;
      if (answer.group.number == 0) {
        worker.does = worker.leaves ? Does::kGone : Does::kTrain;
        gone_ += worker.leaves ? 1 : 0;
        continue;
      }
      check(has(answer.group.members, answer.to), "a worker is told a group of others");
      check(answer.group.number > worker.told,
            concat("group ", answer.group.number, " comes after ", worker.told));
      worker.told = answer.group.number;
      worker.does = Does::kRun;
      worker.answer = answer;
      running_[answer.group.number].push_back(answer.to);
    }
  }

  // A group ends for a member when all have arrived; it need not end for all at once.
  bool finish(Rank rank) {
    Worker& worker = at(rank);
    const IssuedGroup& group = worker.answer.group;
    for (const Rank member : group.members) {
      if (at(member).told < group.number) return false;
    }
    worker.finished = group.number;
    if (group.members.front() == rank) notes_.push_back(group);
    Group& left = running_[group.number];
    left.erase(std::find(left.begin(), left.end(), rank));
    worker.does = Does::kTrain;
    worker.more = !worker.answer.last;
    if (worker.more || worker.leaves || random_.chance(0.5)) ask(rank);
    return true;
  }

  Random random_;
  GroupTable book_;
  std::vector<Worker> workers_;
  std::deque<IssuedGroup> notes_;  // reports of finished groups, in flight
  std::map<std::uint64_t, Group> running_;
  std::size_t gone_ = 0;
  int ms_ = 0;
};

TEST(GroupTable, GivesEverybodyItsGroupsInOrderAndOnce) {
  for (std::uint64_t seed = 1; seed <= 10'000; ++seed) {
    Random random(seed);
    GroupRules rules;
    const std::array kinds{GroupRules::Kind::kRandom, GroupRules::Kind::kSmart, GroupRules::Kind::kReady};
    rules.kind = kinds[seed % kinds.size()];
    rules.size = static_cast<std::size_t>(random.between(2, 4));
    rules.threshold = static_cast<std::uint64_t>(random.between(1, 5));
    rules.lateness = random.between(0, 2);
    rules.by_host = random.chance(0.5);
    rules.weigh_staleness = random.chance(0.5);
    std::vector<int> host_of(static_cast<std::size_t>(random.between(1, 8)));
    for (int& host : host_of) host = random.between(0, 2);
    ASSERT_NO_THROW(Workers(seed, rules, host_of).run()) << "seed " << seed;
  }
}

TEST(GroupTable, AFastMemberIsNotToldItsGroupTwice) {
  GroupTable table = book_of(2, smart(2));
  const auto first = table.ask(0, asks(1), Time());
  ASSERT_EQ(first.size(), 1U);
  EXPECT_EQ(first[0].group.number, 1U);
  EXPECT_EQ(table.ask(1, asks(1), Time()).at(0).group.number, 1U);
  // Worker 1 is done and asks again before the report of worker 0 arrives.
  const auto again = table.ask(1, asks(2, 1), Time());
  ASSERT_EQ(again.size(), 1U);
  EXPECT_NE(again[0].group.number, 1U);
  table.done(first[0].group, Time());
}

// The second member trains when the first one gets the group, and has it when it asks.
TEST(GroupTable, AMemberThatTrainsIsCalledIfTheRulesSaySo) {
  GroupRules rules = smart(2);
  rules.calls = true;
  GroupTable table = book_of(2, rules);
  const auto answers = table.ask(0, asks(1), Time());
  ASSERT_EQ(answers.size(), 2U);
  const auto& call = answers[answers[0].call ? 0 : 1];
  const auto& answer = answers[answers[0].call ? 1 : 0];
  EXPECT_TRUE(call.call);
  EXPECT_EQ(call.to, 1);
  EXPECT_FALSE(answer.call);
  EXPECT_EQ(answer.to, 0);
  EXPECT_EQ(call.group.number, answer.group.number);
  const auto later = table.ask(1, asks(1), Time());
  ASSERT_EQ(later.size(), 1U);
  EXPECT_FALSE(later[0].call);
  EXPECT_EQ(later[0].group.number, call.group.number);
}

TEST(GroupTable, WhoLeavesIsInNoNewGroupAndRunsTheOldOnes) {
  GroupTable table = book_of(3, smart(3));
  const IssuedGroup group = table.ask(0, asks(1), Time()).at(0).group;
  EXPECT_EQ(group.members, (Group{0, 1, 2}));
  EXPECT_EQ(table.leave(2, asks(0), Time()).at(0).group.number, group.number);
  EXPECT_EQ(table.leave(2, asks(0, group.number), Time()).at(0).group.number, 0U);
  table.done(group, Time());
  EXPECT_EQ(table.ask(0, asks(2, 1), Time()).at(0).group.members, (Group{0, 1}));
}

}  // namespace
}  // namespace starling::coordination
