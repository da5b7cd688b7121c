// The agreed membership of a run, on one worker: judges the evidence of the transport, agrees with the others
// on who takes part (view_agreement.h), and lets the transport lose a worker only when a view without it is
// in force. So all workers lose the same ones, in the same order.
//
// Ranks that only serve are no members: their loss counts at the first evidence. Belongs to the thread of the
// transport.
#pragma once

#include <chrono>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "starling/collective/shared_group.h"
#include "starling/coordination/async_sender.h"
#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/membership/view_agreement.h"
#include "starling/runtime/event.h"
#include "starling/runtime/task.h"
#include "starling/transport/transport.h"

namespace starling::membership {

// The others go on without this worker, which lives: it was cut off, or stood still.
struct Excluded : Error {
  using Error::Error;
};

using Reports = std::map<Rank, Bytes>;

class Membership final : private transport::Judge {
 public:
  static constexpr Duration kDefaultPatience = std::chrono::minutes(5);

  struct Options {
    // Between two attempts of a proposer whose proposal came to nothing.
    Duration retry_pause = std::chrono::milliseconds(100);
    // How long a part of the workers that is too small to go on waits for the others.
    Duration patience = kDefaultPatience;
  };

  // Ranks 0 to workers-1 are members at first, except those that are lost already. The transport must outlive
  // it.
  Membership(transport::Transport& net, int workers, Options options);
  ~Membership();
  Membership(const Membership&) = delete;
  Membership& operator=(const Membership&) = delete;

  const View& view() const { return agreement_.view(); }
  const collective::SharedGroup& members() const { return members_; }
  // Pulses when a view comes into force, after the transport has lost those that it no longer has.
  runtime::Event& changes() { return changes_; }

  // What it has sent so far.
  const transport::Traffic& traffic() const { return traffic_; }

  // Answers the others. Never returns; throws Excluded, or Error if too few workers were left for too long.
  runtime::Task<> run();

  // Every member of the view calls it with a report of its own and gets those of all. None if the view of
  // this epoch is no longer in force.
  runtime::Task<std::optional<Reports>> exchange_reports(std::uint64_t epoch, Bytes own);

 private:
  struct News {
    Rank rank = 0;
    std::optional<Evidence> evidence;  // none: it was heard again
  };

  void suspect(Rank rank, Evidence evidence, const std::string& why) override;
  void hear_again(Rank rank) override;

  runtime::Task<> listen();
  runtime::Task<> listen_for_reports();
  runtime::Task<> judge();
  runtime::Task<> repeat_proposals();
  void check_patience();
  void check_excluded() const;
  void weigh(const News& news);
  void judge_silence();
  void install(const View& view);
  void send(Rank to, Tag tag, Bytes bytes);
  Error too_few() const;
  int host_of(Rank rank) const;

  transport::Transport& net_;
  Options options_;
  coordination::AsyncSender sender_;
  transport::Traffic traffic_;
  ViewAgreement agreement_;
  Group known_;  // the members of the view before, while a new one is installed
  collective::SharedGroup members_;
  std::map<Rank, std::string> why_;  // each is suspected
  std::set<Rank> silent_;
  std::set<Rank> broken_;  // their connections are, for good
  std::deque<News> news_;
  std::optional<Time> too_few_since_;
  bool warned_ = false;
  std::map<std::uint64_t, Reports> reports_;  // by epoch
  runtime::Event judged_{"news of a rank", runtime::Event::Kind::kRare};
  runtime::Event changes_{"a view of the run's members", runtime::Event::Kind::kRare};
  runtime::Event reported_{"the reports on a view"};
};

}  // namespace starling::membership
