#include "starling/membership/view_agreement.h"

#include <algorithm>
#include <utility>

namespace starling::membership {

ViewAgreement::ViewAgreement(Rank self, View initial, Send send, Install install)
    : self_(self), view_(std::move(initial)), send_(std::move(send)), install_(std::move(install)) {}

void ViewAgreement::note_dead(Rank rank) {
  if (excluded_ || !contains(view_, rank) || !witnessed_.insert(rank).second) return;
  dead_.insert(rank);
  evidence_changed();
}

void ViewAgreement::note_unreachable(Rank rank) {
  if (excluded_ || !contains(view_, rank) || !unreachable_.insert(rank).second) return;
  evidence_changed();
}

void ViewAgreement::note_reachable(Rank rank) {
  if (excluded_ || unreachable_.erase(rank) == 0) return;
  // Round 1 waits for everybody that can be reached, and it has not been asked yet.
  if (proposal_ && !proposal_->voting && !gone(rank)) {
    std::erase(proposal_->promises[self_].unreachable, rank);
    tell(rank, Kind::kPrepare, proposal_->ballot);
  }
  evidence_changed();
}

Group ViewAgreement::missing() const {
  Group missing;
  for (const Rank rank : view_.members) {
    if (gone(rank)) missing.push_back(rank);
  }
  return missing;
}

bool ViewAgreement::can_go_on_without(const std::set<Rank>& ranks) const {
  std::set<Rank> voters;
  for (const Rank rank : view_.members) {
    if (ranks.count(rank) == 0 && dead_.count(rank) == 0) voters.insert(rank);
  }
  return suffices(voters, dead_);
}

bool ViewAgreement::leads() const {
  for (const Rank rank : view_.members) {
    if (rank == self_) return true;
    if (!gone(rank)) return false;
  }
  return false;
}

bool ViewAgreement::reason_to_propose() const {
  if (!missing().empty()) return true;
  for (const auto& [reporter, others] : unreachable_of_) {
    if (!contains(view_, reporter)) continue;
    for (const Rank other : others) {
      if (contains(view_, other)) return true;
    }
  }
  return false;
}

// New evidence makes an old attempt pointless only if that waits for a member that is gone now, which
// advance() finds out.
void ViewAgreement::evidence_changed() {
  if (!leads()) {
    proposal_.reset();
    wants_retry_ = false;
    return report();
  }
  if (!reason_to_propose()) {
    proposal_.reset();
    wants_retry_ = false;
    return;
  }
  proposal_ ? advance() : propose();
}

// The most senior member may not know: it may be on another host.
void ViewAgreement::report() {
  for (const Rank rank : view_.members) {
    if (gone(rank)) continue;
    if (rank != self_) tell(rank, Kind::kReport);
    return;
  }
}

void ViewAgreement::retry() {
  if (std::exchange(wants_retry_, false) && leads() && reason_to_propose()) propose();
}

void ViewAgreement::give_up() {
  proposal_.reset();
  wants_retry_ = true;
}

void ViewAgreement::propose() {
  attempts_ = std::max(attempts_, promised_.attempt) + 1;
  wants_retry_ = false;
  proposal_ = Proposal{};
  proposal_->ballot = {attempts_, self_};
  const Ballot ballot = proposal_->ballot;
  for (const Rank rank : view_.members) {
    if (rank != self_ && !gone(rank)) tell(rank, Kind::kPrepare, ballot);
  }
  answer_prepare(self_, with_evidence(Kind::kPrepare, ballot));
}

// The next part of a proposal, if it is time for it.
void ViewAgreement::advance() {
  if (!proposal_) return;
  if (proposal_->voting) {
    if (suffices(proposal_->votes, proposal_->known_dead)) {
      const View next{view_.epoch + 1, proposal_->members};
      ViewMessage decided = with_evidence(Kind::kDecided, {});
      decided.epoch = next.epoch;
      decided.members = next.members;
      for (const Rank rank : view_.members) {
        if (rank != self_ && dead_.count(rank) == 0) send_(rank, decided);
      }
      return install(next);
    }
    const auto waited_for = [&](const auto& promise) {
      return proposal_->votes.count(promise.first) == 0 && !gone(promise.first);
    };
    if (std::none_of(proposal_->promises.begin(), proposal_->promises.end(), waited_for)) give_up();
    return;
  }
  std::set<Rank> answered;
  for (const Rank rank : view_.members) {
    if (gone(rank)) continue;  // even if it has answered
    if (proposal_->promises.count(rank) == 0) return;
    answered.insert(rank);
  }
  // A proposal that cannot be decided would linger as accepted, and might be taken up later.
  suffices(answered, proved_dead()) ? ask_for_votes() : give_up();
}

bool ViewAgreement::suffices(const std::set<Rank>& voters, const std::set<Rank>& known_dead) const {
  const std::size_t size = view_.members.size();
  if (2 * voters.size() > size) return true;
  if (2 * voters.size() == size && voters.count(view_.members.front()) != 0) return true;
  return std::all_of(view_.members.begin(), view_.members.end(),
                     [&](Rank rank) { return voters.count(rank) != 0 || known_dead.count(rank) != 0; });
}

Group ViewAgreement::next_members() const {
  const ViewMessage* last = nullptr;
  for (const auto& [rank, promise] : proposal_->promises) {
    if (promise.accepted.attempt == 0) continue;
    if (last == nullptr || last->accepted < promise.accepted) last = &promise;
  }
  if (last != nullptr) return last->members;
  Group next;
  for (const auto& [rank, promise] : proposal_->promises) {
    if (gone(rank)) continue;
    const bool apart = std::any_of(next.begin(), next.end(), [&, rank = rank, &own = promise](Rank senior) {
      return contains(own.unreachable, senior) || contains(proposal_->promises.at(senior).unreachable, rank);
    });
    if (!apart) next.push_back(rank);
  }
  return next;
}

void ViewAgreement::ask_for_votes() {
  Group next = next_members();
  if (next == view_.members) {  // everybody is back
    proposal_.reset();
    unreachable_of_.clear();
    return;
  }
  proposal_->voting = true;
  proposal_->members = std::move(next);
  proposal_->known_dead = proved_dead();
  ViewMessage ask = with_evidence(Kind::kAccept, proposal_->ballot);
  ask.members = proposal_->members;
  const std::map<Rank, ViewMessage> promises = proposal_->promises;
  for (const auto& [rank, promise] : promises) {
    if (rank != self_) send_(rank, ask);
  }
  answer_accept(self_, ask);
}

// What a rank says that is dead to us, it said before: a newer ballot may have been decided without it. The
// deaths that a rank tells us are those of a view that is not older than ours, and of a member of it: an
// excluded one may know the end of members whose newer views we know nothing of.
void ViewAgreement::receive(Rank from, const ViewMessage& message) {
  if (excluded_ || dead_.count(from) != 0) return;
  if (message.kind == Kind::kDecided) {
    if (message.epoch > view_.epoch) install({message.epoch, message.members});
    return;
  }
  if (message.epoch < view_.epoch || !contains(view_, from)) {
    ViewMessage decided = with_evidence(Kind::kDecided, {});
    decided.members = view_.members;
    send_(from, decided);
    // What it was asked for before it knew this view, it has not understood.
    const bool unanswered = proposal_ && !proposal_->voting && proposal_->promises.count(from) == 0;
    if (unanswered && contains(view_, from) && !gone(from)) tell(from, Kind::kPrepare, proposal_->ballot);
    return;
  }
  if (message.epoch > view_.epoch) return tell(from, Kind::kReport);  // its answer is the view
  believe(from, message);
  switch (message.kind) {
    case Kind::kPrepare:
      return answer_prepare(from, message);
    case Kind::kPromise:
      return take_promise(from, message);
    case Kind::kRefuse:
      attempts_ = std::max(attempts_, message.ballot.attempt);
      if (proposal_) give_up();
      return;
    case Kind::kAccept:
      return answer_accept(from, message);
    case Kind::kAccepted:
      return take_vote(from, message);
    case Kind::kReport:
    case Kind::kDecided:
      return;
  }
}

void ViewAgreement::believe(Rank from, const ViewMessage& message) {
  bool news = false;
  for (const Rank rank : message.dead) {
    if (rank == self_ || !contains(view_, rank)) continue;
    dead_.insert(rank);
    news |= heard_.insert(rank).second;
  }
  if (message.kind == Kind::kReport && unreachable_of_[from] != message.unreachable) {
    unreachable_of_[from] = message.unreachable;
    news = true;
  }
  if (news) evidence_changed();
}

std::set<Rank> ViewAgreement::proved_dead() const {
  std::set<Rank> proved = witnessed_;
  proved.insert(heard_.begin(), heard_.end());
  return proved;
}

void ViewAgreement::answer_prepare(Rank from, const ViewMessage& message) {
  if (message.ballot < promised_) {
    if (from != self_) tell(from, Kind::kRefuse, promised_);
    return;
  }
  promised_ = message.ballot;
  if (from != self_ && proposal_) give_up();  // it has just promised to take part in no older ballot
  ViewMessage promise = with_evidence(Kind::kPromise, message.ballot);
  promise.accepted = accepted_;
  promise.members = accepted_members_;
  if (from != self_) return send_(from, promise);
  take_promise(self_, promise);
}

void ViewAgreement::take_promise(Rank from, const ViewMessage& message) {
  if (!proposal_ || proposal_->voting || message.ballot != proposal_->ballot) return;
  proposal_->promises[from] = message;
  advance();
}

void ViewAgreement::answer_accept(Rank from, const ViewMessage& message) {
  if (message.ballot < promised_) {
    if (from != self_) tell(from, Kind::kRefuse, promised_);
    return;
  }
  promised_ = message.ballot;
  accepted_ = message.ballot;
  accepted_members_ = message.members;
  if (from != self_) return tell(from, Kind::kAccepted, message.ballot);
  take_vote(self_, message);
}

void ViewAgreement::take_vote(Rank from, const ViewMessage& message) {
  if (!proposal_ || !proposal_->voting || message.ballot != proposal_->ballot) return;
  proposal_->votes.insert(from);
  advance();
}

void ViewAgreement::install(const View& view) {
  view_ = view;
  promised_ = {};
  accepted_ = {};
  accepted_members_.clear();
  attempts_ = 0;
  proposal_.reset();
  wants_retry_ = false;
  unreachable_of_.clear();
  heard_.clear();
  excluded_ = !contains(view_, self_);
  install_(view_);
  if (!excluded_ && !missing().empty()) evidence_changed();
}

void ViewAgreement::tell(Rank to, Kind kind, const Ballot& ballot) { send_(to, with_evidence(kind, ballot)); }

ViewMessage ViewAgreement::with_evidence(Kind kind, const Ballot& ballot) const {
  ViewMessage message;
  message.kind = kind;
  message.epoch = view_.epoch;
  message.ballot = ballot;
  for (const Rank rank : proved_dead()) {
    if (contains(view_, rank)) message.dead.push_back(rank);
  }
  for (const Rank rank : unreachable_) {
    if (contains(view_, rank) && dead_.count(rank) == 0) message.unreachable.push_back(rank);
  }
  return message;
}

}  // namespace starling::membership
