#include "starling/join/rendezvous_roster.h"

#include <algorithm>
#include <utility>

#include "starling/core/text.h"
#include "starling/join/rendezvous_address.h"

namespace starling::join {

std::optional<Refusal> RendezvousRoster::objection(const Hello& hello) const {
  // Checked first, because the other refusals reveal something about the job.
  if (!same_token(hello.token, token_)) return Refusal{true, "the token is wrong"};
  if (hello.ranks != cards_.size()) {
    return Refusal{true, concat("it counts ", hello.ranks, " ranks, the meeting is of ", ranks())};
  }
  if (hello.rank >= cards_.size()) {
    return Refusal{true, concat("rank ", hello.rank, " is not within 0 to ", ranks() - 1)};
  }
  if (over()) return Refusal{false, concat("all ", ranks(), " ranks have met already")};
  return std::nullopt;
}

bool RendezvousRoster::complete() const {
  return std::all_of(cards_.begin(), cards_.end(), [](const auto& card) { return card.has_value(); });
}

std::vector<Rank> RendezvousRoster::missing() const {
  std::vector<Rank> ranks_missing;
  for (Rank rank = 0; !over() && rank < ranks(); ++rank) {
    if (!taken(rank)) ranks_missing.push_back(rank);
  }
  return ranks_missing;
}

std::vector<std::string> RendezvousRoster::conclude() {
  std::vector<std::string> cards;
  for (auto& card : cards_) cards.push_back(std::move(*std::exchange(card, std::nullopt)));
  --left_;
  return cards;
}

}  // namespace starling::join
