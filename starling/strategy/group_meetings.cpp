#include "starling/strategy/group_meetings.h"

#include "starling/core/error.h"

namespace starling::strategy {

using coordination::Generator;
using coordination::GroupSource;
using coordination::Meeting;

namespace {

constexpr int kIssueBits = 10, kVectorBits = 4, kNumberBits = 42;

// A vector is averaged once in an issue of a group.
Tag tag_of(const Meeting& meeting, std::size_t vector) {
  const std::uint64_t number = meeting.number & ((std::uint64_t{1} << kNumberBits) - 1);
  const std::uint64_t issue = meeting.issue & ((1U << kIssueBits) - 1);
  return strategy::tag_of(Channel::kGroup,
                          (((number << kIssueBits) | issue) << kVectorBits) | (vector & 0xf));
}

// What goes on beside the worker shares its groups with it.
Task<> listen(std::shared_ptr<GroupSource> groups) { co_await groups->listen(); }

Task<> generate(std::shared_ptr<Generator> generator) { co_await generator->run(); }

Generator::Setting generator_setting(Worker& self, const coordination::GroupSetting& groups) {
  Generator::Setting setting{groups};
  setting.random = self.random().fork(static_cast<std::uint64_t>(self.rank()));
  setting.held = [&self](Rank whom, Rank because, Time since) { note_hold(self, whom, because, since); };
  setting.counted = [&self](const coordination::GroupBook::Tally& tally, std::uint64_t censuses) {
    self.journal().generated = {tally.requests, tally.groups, tally.members, censuses};
  };
  return setting;
}

}  // namespace

std::shared_ptr<GroupSource> join_groups(Worker& self, const coordination::GroupRules& rules) {
  coordination::GroupSetting setting;
  setting.tags = {strategy::tag_of(Channel::kToGenerator), strategy::tag_of(Channel::kFromGenerator)};
  setting.rules = rules;
  setting.workers = self.workers();
  setting.host_of = [&self](Rank rank) { return self.host_of(rank); };
  std::shared_ptr<GroupSource> groups =
      coordination::make_group_source(self.net(), setting, [&self] { return self.journal().computing; });
  self.keep("groups", bytes_of(groups->count()));
  self.beside(listen(groups), "groups");
  self.beside(generate(std::make_shared<Generator>(self.net(), generator_setting(self, setting))),
              "group generator");
  return groups;
}

Task<> GroupMeetings::synchronise(const std::vector<Data>& vectors) {
  return meet_all(&GroupSource::next, vectors, nullptr);
}

Task<> GroupMeetings::synchronise_beside(const std::vector<Data>& vectors,
                                         const std::optional<Time>& computed) {
  return meet_all(&GroupSource::next, vectors, &computed);
}

Task<> GroupMeetings::leave(const std::vector<Data>& vectors) {
  return meet_all(&GroupSource::next_before_leaving, vectors, nullptr);
}

Task<> GroupMeetings::meet_all(Next next, const std::vector<Data>& vectors,
                               const std::optional<Time>* computed) {
  for (;;) {
    std::optional<Meeting> meeting;
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

Task<> GroupMeetings::meet(const Meeting& meeting, const std::vector<Data>& vectors,
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
