// A worker's channel to the generator, on whichever rank that is.
#pragma once

#include "starling/coordination/async_sender.h"
#include "starling/coordination/group_source.h"

namespace starling::coordination {

class GeneratorChannel : public GroupSource {
 public:
  GeneratorChannel(transport::Transport& net, const GroupOptions& setting)
      : net_(net), tags_(setting.tags), workers_(setting.workers), sender_(net) {}

  runtime::Task<> listen() final;
  Rank generator() const final;

 protected:
  // A message of this epoch, or of a new one: kCensus.
  virtual void handle(const GroupMessage& note) = 0;

  void tell(GroupMessage note);
  bool lost(Rank rank) const { return net_.lost(rank) || told_lost(rank); }
  bool any_lost(const Group& group) const;
  Rank rank() const { return net_.rank(); }
  int workers() const { return workers_; }
  // No other worker lives.
  bool alone() const { return alone_; }
  // Pulses when something has changed.
  runtime::Event& news() { return news_; }

 private:
  bool told_lost(Rank rank) const;

  transport::Transport& net_;
  GroupTags tags_;
  int workers_;
  AsyncSender sender_;
  std::uint64_t epoch_ = 0;
  Rank generator_ = 0;  // the last one that sent a message
  Group told_lost_;     // lost according to it; this rank may not have noticed yet
  bool alone_ = false;
  runtime::Event news_{"a group from the generator"};
};

}  // namespace starling::coordination
