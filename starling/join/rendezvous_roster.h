// The ranks that have come to a meeting, and their cards: the decisions of the rendezvous server, without its
// sockets. A seat belongs to a connection as long as that lives.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "starling/core/types.h"
#include "starling/join/rendezvous_protocol.h"

namespace starling::join {

class RendezvousRoster {
 public:
  // `meetings`: how often all the ranks meet, one meeting after the other.
  RendezvousRoster(std::string token, int ranks, int meetings)
      : token_(std::move(token)), cards_(static_cast<std::size_t>(ranks)), left_(meetings) {}

  // Why this hello is refused. Reveals nothing about the job to a process that does not know the token.
  std::optional<Refusal> objection(const Hello& hello) const;

  // The functions below are for ranks and hellos without an objection.
  bool taken(Rank rank) const { return at(rank).has_value(); }
  void sit(Rank rank, std::string card) { cards_[static_cast<std::size_t>(rank)] = std::move(card); }
  void leave(Rank rank) { cards_[static_cast<std::size_t>(rank)].reset(); }

  bool complete() const;
  std::vector<Rank> missing() const;

  // The cards of a complete meeting, by rank. The seats are empty then, for the next one.
  std::vector<std::string> conclude();
  bool over() const { return left_ == 0; }

 private:
  const std::optional<std::string>& at(Rank rank) const { return cards_[static_cast<std::size_t>(rank)]; }
  int ranks() const { return static_cast<int>(cards_.size()); }

  std::string token_;
  std::vector<std::optional<std::string>> cards_;  // by rank; none: its seat is empty
  int left_;                                       // meetings still to be held
};

}  // namespace starling::join
