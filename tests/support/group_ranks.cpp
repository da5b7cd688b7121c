#include "tests/support/group_ranks.h"

#include <algorithm>

#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "tests/support/check.h"

namespace starling::testing {

using coordination::GroupTurn;
using runtime::Task;

namespace {

constexpr coordination::GroupTags kTags{1, 2};

Tag tag_of(const GroupTurn& meeting) { return (meeting.number << 16) + meeting.issue + 3; }

Task<> listen(std::shared_ptr<coordination::GroupSource> source) { co_await source->listen(); }

Task<> generate(std::shared_ptr<coordination::GroupGenerator> generator) { co_await generator->run(); }

}  // namespace

GroupRanks::GroupRanks(const Options& setting)
    : models_(setting.host_of.size()),
      last_(setting.host_of.size()),
      served_(setting.host_of.size()),
      ranks_(static_cast<int>(setting.host_of.size()), setting.link, setting.seed) {
  ranks_.learn_late(setting.latest, setting.seed);
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    model(rank).assign(2, static_cast<float>(rank));
    const Source source = join(rank, setting);
    sources_.push_back(source);
    ranks_.start_beside(rank, listen(source), "groups");
  }
}

GroupRanks::Source GroupRanks::join(Rank rank, const Options& setting) {
  const auto host_of = [hosts = setting.host_of](Rank of) { return hosts[static_cast<std::size_t>(of)]; };
  const coordination::GroupOptions groups{
      .tags = kTags, .workers = ranks_.size(), .host_of = host_of, .rules = setting.rules};
  coordination::GroupGenerator::Options generator{groups};
  generator.random = Random(setting.seed).fork(static_cast<std::uint64_t>(rank));
  generator.counted = [&served = served_[static_cast<std::size_t>(rank)]](
                          const coordination::GroupTable::Tally& tally, std::uint64_t censuses) {
    served = {tally, censuses};
  };
  ranks_.start_beside(
      rank, generate(std::make_shared<coordination::GroupGenerator>(ranks_.at(rank), std::move(generator))),
      "generator");
  return coordination::make_group_source(ranks_.at(rank), groups, {});
}

void GroupRanks::check_order(Rank rank, const GroupTurn& meeting) {
  Met& last = last_[static_cast<std::size_t>(rank)];
  const bool later = meeting.number > last.number;
  const bool again = !last.finished && meeting.number == last.number && meeting.issue > last.issue;
  check(later || again, concat("rank ", rank, " is given group ", meeting.number, " issue ", meeting.issue,
                               " after ", last.number, " issue ", last.issue));
  check(std::is_sorted(meeting.group.begin(), meeting.group.end()) && meeting.group.size() > 1,
        concat("group ", meeting.number, " is ", starling::join_texts(meeting.group)));
  last = {meeting.number, meeting.issue, false};
}

Task<> GroupRanks::meet_all(Rank rank, Next next) {
  const Source source = sources_[static_cast<std::size_t>(rank)].lock();
  for (;;) {
    const std::optional<GroupTurn> meeting = co_await ((*source).*next)();
    if (!meeting) co_return;
    check_order(rank, *meeting);
    if (meets) meets(rank, *meeting);
    try {
      co_await collective::all_reduce(ranks_.at(rank), meeting->group, std::span<float>(model(rank)),
                                      collective::Reduction::mean(), tag_of(*meeting));
      last_[static_cast<std::size_t>(rank)].finished = true;
      source->finished();
    } catch (const PeerLost&) {
      source->failed();
    }
  }
}

}  // namespace starling::testing
