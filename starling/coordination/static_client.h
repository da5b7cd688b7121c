// A worker's groups from the static schedule. As long as no worker is lost, it needs no messages.
//
// Each member leaves out a group with a lost member as soon as it knows of the loss or fails. Then the
// generator takes a census: a worker reports how many rounds it has begun, and begins no other until it
// learns from which round on the schedule is that of the living. Nobody has begun that round, so all have the
// same schedule in every round. A worker in a round waits only for workers that are not beyond it, so they
// come.
#pragma once

#include <vector>

#include "starling/coordination/generator_channel.h"
#include "starling/coordination/static_groups.h"

namespace starling::coordination {

class StaticClient final : public GeneratorChannel {
 public:
  StaticClient(transport::Transport& net, const GroupOptions& setting);

  runtime::Task<std::optional<GroupTurn>> next() override;
  // All workers make the same number of rounds: none is in a group that another still waits for.
  runtime::Task<std::optional<GroupTurn>> next_before_leaving() override;
  std::uint64_t& count() override { return round_; }
  void finished() override { through_ = true; }
  void failed() override { through_ = true; }

 private:
  struct Schedule {
    std::uint64_t from = 0;  // round
    StaticGroups groups;
  };

  void handle(const GroupMessage& note) override;
  Group group_of(std::uint64_t round) const;
  void add_schedule(const ScheduleChange& change);

  GroupOptions setting_;
  std::vector<ScheduleChange> changes_;
  std::vector<Schedule> schedules_;  // by `from`
  std::uint64_t round_ = 0;
  bool through_ = false;
  bool halted_ = false;  // until the new schedule comes
};

}  // namespace starling::coordination
