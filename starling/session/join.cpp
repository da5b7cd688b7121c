#include "starling/session/join.h"

#include <chrono>
#include <map>
#include <optional>
#include <vector>

#include "starling/collective/collective.h"
#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/runtime/run.h"
#include "starling/session/host_identity.h"
#include "starling/session/rendezvous.h"
#include "starling/session/rendezvous_server.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/shm/shm.h"
#include "starling/transport/wire/ucx.h"

namespace starling::session {

namespace {

using transport::wire::Engine;

constexpr Duration kPatience = std::chrono::seconds(60);
constexpr Tag kHere = ~Tag{0} - 1;

// What a process brings to the rendezvous: its host, the name of its engine or "none", and how that is
// reached.
struct Card {
  std::string host = {};
  std::string engine = "none";
  std::string address = {};

  std::string text() const { return concat(host, "\n", engine, "\n", address); }
  static Card parse(const std::string& text) {
    const std::size_t first = text.find('\n');
    const std::size_t second = text.find('\n', first + 1);
    if (first == std::string::npos || second == std::string::npos)
      throw Error("rendezvous: a card that is none of this version");
    return {text.substr(0, first), text.substr(first + 1, second - first - 1), text.substr(second + 1)};
  }
};

std::unique_ptr<Engine> make_engine(const Standing& standing) {
  if (standing.transport == "shm") return nullptr;
  if (standing.transport == "auto" && !transport::wire::why_no_ucx().empty()) return nullptr;
  return transport::wire::make_ucx(standing.rank);
}

std::vector<Card> exchange(const Standing& standing, const Card& own) {
  MeetingPoint point = parse_meeting_point(standing.rendezvous, "STARLING_RENDEZVOUS");
  point.token = standing.token;
  std::optional<RendezvousServer> server;
  if (standing.rank == 0) {
    server.emplace(RendezvousServer::Options{.bind = point.host,
                                             .port = point.port,
                                             .token = point.token,
                                             .ranks = standing.ranks,
                                             .patience = kPatience});
  }
  std::vector<Card> cards;
  for (const std::string& text : meet(point, standing.rank, standing.ranks, own.text(), kPatience))
    cards.push_back(Card::parse(text));
  if (server && !server->served(kPatience)) throw Timeout("rendezvous: somebody does not take the cards");
  return cards;
}

void check_engines(const std::vector<Card>& cards, const Standing& standing) {
  const Card& own = cards[static_cast<std::size_t>(standing.rank)];
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].host == own.host) continue;
    if (cards[rank].engine != own.engine) {
      throw Error(concat("rank ", standing.rank, " uses the network by ", own.engine, ", rank ", rank, " by ",
                         cards[rank].engine, "; set STARLING_TRANSPORT alike"));
    }
    if (own.engine == "none") {
      throw Error(concat(
          "rank ", rank, " is on another host than rank ", standing.rank, ", and there is no network: ",
          standing.transport == "shm" ? "STARLING_TRANSPORT is shm" : transport::wire::why_no_ucx()));
    }
  }
}

std::vector<int> count_hosts(const std::vector<Card>& cards) {
  std::map<std::string, int> numbers;
  std::vector<int> host_of_rank;
  host_of_rank.reserve(cards.size());
  for (const Card& card : cards)
    host_of_rank.push_back(numbers.emplace(card.host, static_cast<int>(numbers.size())).first->second);
  return host_of_rank;
}

// Where the ranks of this host find their memory. Says nothing about the token.
std::string arena_name(const Standing& standing, const std::string& host, Rank lowest) {
  const std::string secret = concat(standing.token, "\n", host, "\n", lowest);
  return concat("starling-", hash_of(std::as_bytes(std::span(secret))));
}

}  // namespace

Joined join_run(runtime::LoopScheduler& loop, const Standing& standing) {
  std::unique_ptr<Engine> engine = make_engine(standing);
  Card own{.host = host_identity()};
  if (engine) own = {own.host, std::string(engine->name()), engine->card()};
  const std::vector<Card> cards = exchange(standing, own);
  check_engines(cards, standing);

  std::vector<Rank> members, others;
  std::vector<std::string> addresses;
  for (Rank rank = 0; rank < standing.ranks; ++rank) {
    const Card& card = cards[static_cast<std::size_t>(rank)];
    (card.host == own.host ? members : others).push_back(rank);
    addresses.push_back(card.address);
  }
  Joined joined{nullptr, count_hosts(cards)};
  const std::string name = arena_name(standing, own.host, members.front());
  const transport::shm::HostArena local(loop, name, members, standing.rank, kPatience);
  auto& net = joined.net;
  if (others.empty()) {
    net = std::make_unique<transport::ShmTransport>(loop, local.arena(), standing.rank);
  } else {
    engine->connect(addresses, others);
    transport::wire::Remote::Setting setting{.engine = std::move(engine), .peers = others};
    net = std::make_unique<transport::ShmTransport>(loop, local.arena(), standing.rank, standing.ranks,
                                                    std::move(setting));
  }
  net->set_hosts(std::make_shared<const std::vector<int>>(joined.host_of_rank));
  net->set_patience(kPatience);
  runtime::run(loop, collective::barrier(*net, members, kHere), "joining");
  net->set_patience(transport::Transport::kDefaultPatience);
  return joined;
}

}  // namespace starling::session
