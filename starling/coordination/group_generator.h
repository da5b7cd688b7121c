// The group generator: a service that runs beside every worker and is active on the lowest living one. It
// receives small messages only and answers them from its table; the models travel among the workers.
//
// When a worker is lost, the generator, the old one or its successor, takes a census: it asks all living
// workers for their state, each answers at once and gives up groups with a lost member, and the table is
// rebuilt from the answers. So a lost member and the succession of the generator are one case. A census has
// an epoch of its own, later than all before; messages of an earlier epoch are void, because their contents
// are in the answers. If a worker is lost meanwhile, the census begins again.
//
// Static groups need no table: a census finds out how far the furthest worker has got, and the schedule of
// the rounds after that is made for the living.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "starling/coordination/async_sender.h"
#include "starling/coordination/group_table.h"
#include "starling/runtime/scope.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::coordination {

// The host of a rank. A function instead of a copy: thousands of simulated workers would each have a list.
using HostOf = std::function<int(Rank)>;
std::vector<int> hosts_of(int workers, const HostOf& host_of);

struct GroupTags {
  Tag to_generator = 0;
  Tag to_worker = 0;
};

// The same for the generator and for the workers that get groups from it.
struct GroupOptions {
  GroupTags tags;
  int workers = 1;  // ranks 0, 1, ...
  HostOf host_of;
  GroupRules rules = {};
};

class GroupGenerator {
 public:
  struct Options : GroupOptions {
    Random random = Random(0);
    // A worker had to wait for its group because of another, since when. May be empty.
    std::function<void(Rank whom, Rank because, Time since)> held = {};
    // The amount of work so far. May be empty.
    std::function<void(const GroupTable::Tally& tally, std::uint64_t censuses)> counted = {};
  };

  GroupGenerator(transport::Transport& net, Options setting);

  // Returns when no worker is left to serve.
  runtime::Task<> run();

  GroupTable::Tally tally() const;
  std::uint64_t censuses() const { return censuses_; }

 private:
  int workers() const { return setting_.workers; }
  bool leads() const;
  std::uint64_t lost_workers() const;
  bool alone() const;

  runtime::Task<> listen();
  runtime::Task<> watch_losses();
  void look_for_losses();
  runtime::Task<> look_at(Time time);
  void handle(Rank from, const GroupMessage& note);
  // `because`: the worker whose arrival caused them.
  void carry(const GroupTable::Answers& answers, std::optional<Rank> because = {});
  void watch_time();

  std::unique_ptr<GroupTable> new_book();
  void begin_census();
  void take_state(Rank from, const GroupMessage& state);
  void end_census();
  void resume_schedule();
  void tell(Rank to, GroupMessage note);

  transport::Transport& net_;
  Options setting_;
  AsyncSender sender_;
  std::unique_ptr<GroupTable> table_;
  GroupTable::Tally tally_;  // of the tables before this one
  runtime::Scope* scope_ = nullptr;
  std::optional<Time> watched_;  // the time that a task sleeps for

  std::uint64_t epoch_ = 0;
  std::uint64_t censuses_ = 0;
  std::uint64_t known_lost_ = 0;
  bool asking_ = false;  // a census is in progress
  GroupTable::States states_;
  std::size_t missing_ = 0;                           // states
  std::vector<std::pair<Rank, GroupMessage>> early_;  // of this epoch, from before the end of the census
};

}  // namespace starling::coordination
