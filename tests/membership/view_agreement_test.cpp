// Members that crash and links that are cut at random, on a network of queues: whatever happens, no two
// living members hold different views of one epoch, a side that is too small installs nothing, and when the
// faults are over, those that suffice are in one view of living members.
#include "starling/membership/view_agreement.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>

#include "starling/core/error.h"
#include "starling/core/random.h"

namespace starling::membership {
namespace {

Group ranks_of(int count) {
  Group ranks;
  for (Rank rank = 0; rank < count; ++rank) ranks.push_back(rank);
  return ranks;
}

class Members {
 public:
  Members(int count, std::uint64_t seed) : random_(seed), host_of_(static_cast<std::size_t>(count)) {
    const int hosts = random_.between(1, count);
    for (int& host : host_of_) host = random_.between(0, hosts - 1);
    build(count);
  }
  Members(std::vector<int> hosts, std::uint64_t seed) : random_(seed), host_of_(std::move(hosts)) {
    build(static_cast<int>(host_of_.size()));
  }

  Random& random() { return random_; }
  const View& view(Rank rank) { return at(rank).view(); }
  bool excluded(Rank rank) { return at(rank).excluded(); }
  bool lives(Rank rank) const { return dead_.count(rank) == 0; }
  int host_of(Rank rank) const { return host_of_[static_cast<std::size_t>(rank)]; }
  Group living() const {
    Group group;
    for (Rank rank = 0; rank < size(); ++rank) {
      if (lives(rank)) group.push_back(rank);
    }
    return group;
  }
  int size() const { return static_cast<int>(members_.size()); }

  // The kernel tells the members of its host, each in its own time.
  void kill(Rank rank) {
    if (!dead_.insert(rank).second) return;
    for (Rank other = 0; other < size(); ++other) {
      if (other == rank) continue;
      if (host_of(other) == host_of(rank)) news_.push_back({other, rank, true});
    }
  }

  // Hosts on different sides cannot reach each other from now on; messages under way arrive later.
  void cut(const std::set<int>& side) { side_ = side; }
  void heal() { side_.clear(); }

  // One message or one piece of news. False if there is none.
  bool step() {
    const std::size_t ready = news_.size() + queues_.size();
    if (ready == 0) return false;
    if (!news_.empty() && random_.chance(0.3)) {
      const News news = news_.front();
      news_.pop_front();
      if (lives(news.to) && news.dead) at(news.to).note_dead(news.about);
      return true;
    }
    for (int tries = 0; tries < 20; ++tries) {
      auto queue = queues_.begin();
      if (queues_.empty()) break;
      std::advance(queue, random_.between(0, static_cast<int>(queues_.size()) - 1));
      const auto [from, to] = queue->first;
      if (!lives(to)) {
        queues_.erase(queue);
        return true;
      }
      if (apart(from, to)) continue;
      const ViewMessage message = queue->second.front();
      queue->second.pop_front();
      if (queue->second.empty()) queues_.erase(queue);
      at(to).receive(from, view_message_from(to_bytes(message), from));
      check();
      return true;
    }
    return !news_.empty();
  }

  // Everybody notices who is silent, and who is heard again. Hosts are judged as a whole.
  void look_around() {
    for (Rank self = 0; self < size(); ++self) {
      if (!lives(self)) continue;
      for (Rank other = 0; other < size(); ++other) {
        if (host_of(other) == host_of(self)) continue;
        bool heard = false;
        for (Rank mate = 0; mate < size(); ++mate) {
          heard |= host_of(mate) == host_of(other) && lives(mate) && !apart(self, mate) && !excluded(mate);
        }
        heard && !excluded(other) ? at(self).note_reachable(other) : at(self).note_unreachable(other);
      }
      if (at(self).wants_retry()) at(self).retry();
      check();
    }
  }

  void settle() {
    for (int round = 0; round < 60; ++round) {
      look_around();
      for (int i = 0; i < 400 && step();) ++i;
    }
  }

 private:
  struct News {
    Rank to, about;
    bool dead;
  };

  void build(int count) {
    for (Rank rank = 0; rank < count; ++rank) {
      members_.push_back(std::make_unique<ViewAgreement>(
          rank, View{1, ranks_of(count)},
          [this, rank](Rank to, const ViewMessage& message) {
            queues_[{rank, to}].push_back(message);
          },
          [this, rank](const View& view) { installed(rank, view); }));
    }
  }

  ViewAgreement& at(Rank rank) { return *members_[static_cast<std::size_t>(rank)]; }
  bool apart(Rank a, Rank b) const {
    return !side_.empty() && side_.count(host_of(a)) != side_.count(host_of(b));
  }

  void installed(Rank rank, const View& view) {
    EXPECT_GT(view.epoch, epochs_[rank]) << "rank " << rank << " goes back";
    epochs_[rank] = view.epoch;
  }

  // No two that live and take part disagree about an epoch, and one that follows another is part of it.
  void check() {
    for (Rank a = 0; a < size(); ++a) {
      for (Rank b = 0; b < a; ++b) {
        if (!lives(a) || !lives(b) || excluded(a) || excluded(b)) continue;
        if (view(a).epoch == view(b).epoch) {
          ASSERT_EQ(view(a).members, view(b).members) << "ranks " << a << " and " << b;
        }
        const View& newer = view(a).epoch > view(b).epoch ? view(a) : view(b);
        const View& older = view(a).epoch > view(b).epoch ? view(b) : view(a);
        for (const Rank member : newer.members) ASSERT_TRUE(contains(older, member));
      }
    }
  }

  Random random_;
  std::vector<int> host_of_;
  std::vector<std::unique_ptr<ViewAgreement>> members_;
  std::map<std::pair<Rank, Rank>, std::deque<ViewMessage>> queues_;
  std::deque<News> news_;
  std::set<Rank> dead_;
  std::set<int> side_;
  std::map<Rank, std::uint64_t> epochs_;
};

TEST(ViewAgreement, OnOneHostTheOthersGoOnWhoeverDies) {
  for (std::uint64_t seed = 1; seed <= 2000; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    const int count = random.between(2, 6);
    Members members(std::vector<int>(static_cast<std::size_t>(count), 0), seed);
    for (int deaths = random.between(1, count - 1); deaths > 0; --deaths) {
      members.kill(random.between(0, count - 1));
      for (int steps = random.between(0, 30); steps > 0; --steps) members.step();
    }
    members.settle();
    for (const Rank rank : members.living()) EXPECT_EQ(members.view(rank).members, members.living());
  }
}

TEST(ViewAgreement, OfTwoSidesTheLargerGoesOn) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Members members({0, 0, 0, 1, 1}, seed);
    members.cut({0});
    members.settle();
    for (const Rank rank : {0, 1, 2}) EXPECT_EQ(members.view(rank).members, (Group{0, 1, 2}));
    for (const Rank rank : {3, 4}) EXPECT_EQ(members.view(rank).epoch, 1U) << "too few";
    members.heal();
    members.settle();
    for (const Rank rank : {3, 4}) EXPECT_TRUE(members.excluded(rank));
  }
}

TEST(ViewAgreement, OfEqualSidesThatOfTheLowestRankGoesOn) {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    Members members({0, 1, 0, 1}, seed);
    members.cut({0});
    members.settle();
    EXPECT_EQ(members.view(0).members, (Group{0, 2}));
    EXPECT_EQ(members.view(1).epoch, 1U);
    EXPECT_EQ(members.view(3).epoch, 1U);
  }
}

TEST(ViewAgreement, ACutThatHealsInTimeChangesNothing) {
  Members members({0, 1, 2}, 1);
  members.cut({0});
  members.heal();
  members.settle();
  for (const Rank rank : {0, 1, 2}) EXPECT_EQ(members.view(rank).epoch, 1U);
}

TEST(ViewAgreement, CrashesAndCutsAtRandom) {
  int changed = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    SCOPED_TRACE(concat("seed ", seed));
    Random random(seed);
    Members members(random.between(2, 6), seed);
    for (int faults = random.between(1, 5); faults > 0; --faults) {
      if (random.chance(0.4)) {
        members.kill(random.between(0, members.size() - 1));
      } else if (random.chance(0.6)) {
        members.cut({random.between(0, members.size() - 1)});
      } else {
        members.heal();
      }
      if (random.chance(0.5)) members.look_around();
      for (int steps = random.between(0, 60); steps > 0; --steps) members.step();
      if (::testing::Test::HasFatalFailure()) return;
    }
    members.heal();
    members.settle();
    if (::testing::Test::HasFatalFailure()) return;
    for (const Rank rank : members.living()) changed += members.view(rank).epoch > 1 ? 1 : 0;
  }
  EXPECT_GT(changed, 1000);
}

// Round 1 waits for everybody that can be reached. One that is heard again meanwhile has not been asked yet.
TEST(ViewAgreement, AMemberThatIsHeardAgainIsAskedToo) {
  std::vector<std::pair<Rank, ViewMessage>> sent;
  ViewAgreement agreement(
      1, View{1, ranks_of(4)}, [&](Rank to, const ViewMessage& message) { sent.emplace_back(to, message); },
      [](const View&) {});
  agreement.note_unreachable(3);
  agreement.note_dead(0);
  const auto prepare = std::find_if(sent.begin(), sent.end(), [](const auto& one) {
    return one.second.kind == ViewMessage::Kind::kPrepare;
  });
  ASSERT_NE(prepare, sent.end());
  EXPECT_EQ(prepare->first, 2);
  const Ballot ballot = prepare->second.ballot;
  agreement.note_reachable(3);
  EXPECT_EQ(sent.back().first, 3);
  EXPECT_EQ(sent.back().second.kind, ViewMessage::Kind::kPrepare);
  ViewMessage answer;
  answer.epoch = 1;
  answer.ballot = ballot;
  for (const auto kind : {ViewMessage::Kind::kPromise, ViewMessage::Kind::kAccepted}) {
    answer.kind = kind;
    for (const Rank rank : {2, 3}) agreement.receive(rank, answer);
  }
  EXPECT_EQ(agreement.view(), (View{2, {1, 2, 3}}));
}

// Connections that are broken stay so. The side that cannot have enough votes need not wait.
TEST(ViewAgreement, KnowsWhetherItCanGoOn) {
  ViewAgreement agreement(
      2, View{1, ranks_of(4)}, [](Rank, const ViewMessage&) {}, [](const View&) {});
  EXPECT_TRUE(agreement.can_go_on_without({}));
  EXPECT_TRUE(agreement.can_go_on_without({1}));
  EXPECT_FALSE(agreement.can_go_on_without({0, 1}));
  agreement.note_dead(0);
  EXPECT_FALSE(agreement.can_go_on_without({1}));
  agreement.note_dead(1);
  EXPECT_TRUE(agreement.can_go_on_without({}));
}

TEST(ViewMessage, ComesBackAsItWas) {
  const ViewMessage message{.kind = ViewMessage::Kind::kPromise,
                            .epoch = 7,
                            .ballot = {3, 2},
                            .accepted = {2, 1},
                            .members = {0, 2, 5},
                            .dead = {1},
                            .unreachable = {3, 4}};
  EXPECT_EQ(view_message_from(to_bytes(message), 2), message);
  Bytes short_one = to_bytes(message);
  short_one.pop_back();
  EXPECT_THROW(view_message_from(short_one, 2), Error);
  ViewMessage unordered = message;
  unordered.members = {2, 0};
  EXPECT_THROW(view_message_from(to_bytes(unordered), 2), Error);
}

}  // namespace
}  // namespace starling::membership
