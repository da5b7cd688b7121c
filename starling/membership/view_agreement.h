// How the members of a view agree on the next one, without those that are gone: one decision of Paxos per
// epoch (Lamport, "The part-time parliament"), as a state machine without input and output.
//
//   evidence   A member is *dead* to another if that is certain: the kernel said so to a rank of its host, or
//   it
//              said good-bye. It is *unreachable* if nothing is heard of it; that may pass. Members pass the
//              dead on. A death that was only heard of proves nothing in later epochs.
//   proposer   The member to which all members of lower rank are dead or unreachable. There may be several.
//   round 1    asks all others that it can reach for a promise to take part in no older ballot. They answer
//   with
//              the proposal that they accepted last. It goes on when every member has answered, or is dead or
//              unreachable, and those that answered suffice.
//   round 2    proposes what may have been decided before: the accepted proposal of the highest ballot. If
//   there
//              is none: the members that answered, without the dead, and without the higher rank of every two
//              that cannot reach each other. They vote for it.
//   decided    as soon as the votes suffice: (Q) more than half of the members, or half with the lowest rank
//   of
//              the view; or (L) all members but those whose death the proposer knew when it asked for votes.
//
// So no two views of an epoch are decided, and of two sides that cannot reach each other at most one goes on.
// The other waits until it hears of the newer view, which excludes it, or of everybody again. The dead count
// in (Q): before they died they may have voted for another view. docs/membership.md has the argument and what
// was checked of it.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <set>
#include <vector>

#include "starling/membership/view_message.h"

namespace starling::membership {

class ViewAgreement {
 public:
  using Send = std::function<void(Rank to, const ViewMessage& message)>;
  // Called with every view that comes into force. A view without this rank excludes it: it is the last one.
  using Install = std::function<void(const View& view)>;

  ViewAgreement(Rank self, View initial, Send send, Install install);

  const View& view() const { return view_; }
  bool excluded() const { return excluded_; }

  // Evidence. Ranks that are no members are ignored. A death is first-hand: the kernel or the rank itself
  // told it.
  void note_dead(Rank rank);
  void note_unreachable(Rank rank);
  void note_reachable(Rank rank);

  void receive(Rank from, const ViewMessage& message);

  // A proposal of this member came to nothing. It is to call retry() after a pause, unless there is new
  // evidence meanwhile.
  bool wants_retry() const { return wants_retry_; }
  void retry();

  // The members that this one holds for gone, and that the view still has.
  Group missing() const;

  // Whether a view can still be decided here if none of these is ever reached again.
  bool can_go_on_without(const std::set<Rank>& ranks) const;

 private:
  using Kind = ViewMessage::Kind;

  struct Proposal {
    Ballot ballot;
    std::map<Rank, ViewMessage> promises;
    bool voting = false;  // round 2
    Group members;
    std::set<Rank> known_dead;  // when votes were asked for
    std::set<Rank> votes;
  };

  bool gone(Rank rank) const { return dead_.count(rank) != 0 || unreachable_.count(rank) != 0; }
  bool leads() const;
  bool reason_to_propose() const;
  bool suffices(const std::set<Rank>& voters, const std::set<Rank>& known_dead) const;
  void evidence_changed();
  void report();
  void propose();
  void advance();
  void ask_for_votes();
  Group next_members() const;
  void take_promise(Rank from, const ViewMessage& message);
  void take_vote(Rank from, const ViewMessage& message);
  void answer_prepare(Rank from, const ViewMessage& message);
  void answer_accept(Rank from, const ViewMessage& message);
  void believe(Rank from, const ViewMessage& message);
  std::set<Rank> proved_dead() const;
  void give_up();
  void install(const View& view);
  void tell(Rank to, Kind kind, const Ballot& ballot = {});
  ViewMessage with_evidence(Kind kind, const Ballot& ballot) const;

  Rank self_;
  View view_;
  Send send_;
  Install install_;
  bool excluded_ = false;

  std::set<Rank> dead_;       // known to be, by whatever way
  std::set<Rank> witnessed_;  // of these: first-hand
  std::set<Rank> heard_;      // of these: from a member, in this epoch
  std::set<Rank> unreachable_;
  std::map<Rank, Group> unreachable_of_;  // by member, as it reported

  // Of the next epoch.
  Ballot promised_;
  Ballot accepted_;
  Group accepted_members_;
  std::uint64_t attempts_ = 0;
  std::optional<Proposal> proposal_;
  bool wants_retry_ = false;
};

}  // namespace starling::membership
