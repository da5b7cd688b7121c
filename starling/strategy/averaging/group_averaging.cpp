#include "starling/strategy/averaging/group_averaging.h"

#include "starling/core/error.h"

namespace starling::strategy {

using coordination::GroupGenerator;
using coordination::GroupSource;
using coordination::GroupTurn;

namespace {

constexpr int kIssueBits = 10, kVectorBits = 4, kNumberBits = 42;

// A vector is averaged once in each issue of a group.
Tag tag_of(const GroupTurn& meeting, std::size_t vector) {
  const std::uint64_t number = meeting.number & ((std::uint64_t{1} << kNumberBits) - 1);
  const std::uint64_t issue = meeting.issue & ((1U << kIssueBits) - 1);
  return strategy::tag_of(Channel::kGroup,
                          (((number << kIssueBits) | issue) << kVectorBits) | (vector & 0xf));
}

// The task beside the worker shares the groups with it.
Task<> listen(std::shared_ptr<GroupSource> groups) { co_await groups->listen(); }

Task<> generate(std::shared_ptr<GroupGenerator> generator) { co_await generator->run(); }

GroupGenerator::Options generator_setting(Worker& self, const coordination::GroupOptions& groups) {
  GroupGenerator::Options setting{groups};
  setting.random = self.random().fork(static_cast<std::uint64_t>(self.rank()));
  setting.held = [&self](Rank whom, Rank because, Time since) { note_hold(self, whom, because, since); };
  setting.counted = [&self](const coordination::GroupTable::Tally& tally, std::uint64_t censuses) {
    self.journal().generated = {tally.requests, tally.groups, tally.members, censuses};
  };
  return setting;
}

}  // namespace

std::shared_ptr<GroupSource> join_groups(Worker& self, const coordination::GroupRules& rules) {
  coordination::GroupOptions setting;
  setting.tags = {strategy::tag_of(Channel::kToGenerator), strategy::tag_of(Channel::kFromGenerator)};
  setting.rules = rules;
  setting.workers = self.workers();
  setting.host_of = [&self](Rank rank) { return self.host_of(rank); };
  std::shared_ptr<GroupSource> groups =
      coordination::make_group_source(self.net(), setting, [&self] { return self.journal().computing; });
  self.keep("groups", bytes_of(groups->count()));
  self.beside(listen(groups), "groups");
  self.beside(generate(std::make_shared<GroupGenerator>(self.net(), generator_setting(self, setting))),
              "group generator");
  return groups;
}

Task<> GroupAveraging::synchronise(const std::vector<Data>& vectors) {
  return meet_all(&GroupSource::next, vectors, nullptr);
}

Task<> GroupAveraging::synchronise_beside(const std::vector<Data>& vectors,
                                          const std::optional<Time>& computed) {
  return meet_all(&GroupSource::next, vectors, &computed);
}

Task<> GroupAveraging::leave(const std::vector<Data>& vectors) {
  return meet_all(&GroupSource::next_before_leaving, vectors, nullptr);
}

Task<> GroupAveraging::meet_all(Next next, const std::vector<Data>& vectors,
                                const std::optional<Time>* computed) {
  for (;;) {
    std::optional<GroupTurn> meeting;
    {
      Stopwatch watch(self_, record::Activity::kWait, groups_->generator());
      if (computed != nullptr) watch.in_background_until(*computed);
      meeting = co_await (*groups_.*next)();
    }
    if (!meeting) co_return;
    try {
      co_await meet(*meeting, vectors, computed);
      groups_->finished();
    } catch (const PeerLost&) {
      groups_->failed();
    }
  }
}

Task<> GroupAveraging::meet(const GroupTurn& meeting, const std::vector<Data>& vectors,
                            const std::optional<Time>* computed) {
  const collective::SharedGroup group(meeting.group);
  const collective::Reduction how =
      weighted_ ? collective::Reduction::weighted_mean(meeting.weight) : collective::Reduction::mean();
  for (std::size_t i = 0; i < vectors.size(); ++i) {
    const Tag tag = tag_of(meeting, i);
    if (computed != nullptr) {
      co_await all_reduce_beside(self_, *computed, group, vectors[i], how, tag);
    } else {
      co_await all_reduce(self_, group, vectors[i], how, tag);
    }
  }
}

}  // namespace starling::strategy
