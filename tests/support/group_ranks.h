// Workers on virtual ranks that average in groups: each has a source of groups and a generator beside it, as
// in a run, and a small vector for a model.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "starling/coordination/group_source.h"
#include "tests/support/virtual_ranks.h"

namespace starling::testing {

class GroupRanks {
 public:
  struct Options {
    std::vector<int> host_of;  // by rank: as many as there are workers
    coordination::GroupRules rules = {};
    std::uint64_t seed = 1;  // of the generator, and of the order of events
    VirtualRanks::Link link = {};
    Duration latest = {};  // after which all ranks have learnt of a death
  };
  explicit GroupRanks(const Options& setting);

  VirtualRanks& ranks() { return ranks_; }
  std::vector<float>& model(Rank rank) { return models_[static_cast<std::size_t>(rank)]; }

  // The work of the rank's generator.
  struct Served {
    coordination::GroupTable::Tally tally;
    std::uint64_t censuses = 0;
  };
  const Served& served(Rank rank) const { return served_[static_cast<std::size_t>(rank)]; }

  // A member has been given this group and is about to run it.
  std::function<void(Rank member, const coordination::GroupTurn& meeting)> meets;

  // The rank's groups of one synchronisation, and those that it is still in when it leaves. Error if they are
  // out of order, or if one of them comes twice.
  runtime::Task<> synchronise(Rank rank) { return meet_all(rank, &coordination::GroupSource::next); }
  runtime::Task<> leave(Rank rank) { return meet_all(rank, &coordination::GroupSource::next_before_leaving); }

 private:
  using Next = runtime::Task<std::optional<coordination::GroupTurn>> (coordination::GroupSource::*)();
  using Source = std::shared_ptr<coordination::GroupSource>;
  Source join(Rank rank, const Options& setting);
  runtime::Task<> meet_all(Rank rank, Next next);
  void check_order(Rank rank, const coordination::GroupTurn& meeting);

  struct Met {
    std::uint64_t number = 0;
    std::uint32_t issue = 0;
    bool finished = true;
  };

  std::vector<std::vector<float>> models_;
  std::vector<Met> last_;  // by rank
  std::vector<Served> served_;
  // They belong to the rank's tasks: what a rank that is killed still had to send is withdrawn.
  std::vector<std::weak_ptr<coordination::GroupSource>> sources_;
  VirtualRanks ranks_;
};

}  // namespace starling::testing
