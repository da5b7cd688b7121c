#include "starling/join/join.h"

#include <algorithm>
#include <array>
#include <map>
#include <numeric>
#include <optional>

#include "starling/collective/collective.h"
#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/core/hash.h"
#include "starling/join/host_identity.h"
#include "starling/join/rendezvous.h"
#include "starling/join/rendezvous_server.h"
#include "starling/runtime/run.h"
#include "starling/transport/shm/handover.h"
#include "starling/transport/shm/shm.h"
#include "starling/transport/wire/greeting.h"
#include "starling/transport/wire/mpi.h"
#include "starling/transport/wire/ucx.h"

namespace starling::join {

namespace {

using transport::wire::Engine;
using transport::wire::MpiWorld;

constexpr Tag kHere = ~Tag{0} - 1;

// A process brings to the rendezvous: the version of its messages, its host, the silence that it allows
// the others, the name of its engine or "none", and how that is reached.
struct Card {
  std::string host = {};
  std::string silence = {};
  std::string engine = "none";
  std::string address = {};

  std::string text() const {
    return concat(kWireVersion, "\n", host, "\n", silence, "\n", engine, "\n", address);
  }
  static Card parse(const std::string& text) {
    std::array<std::string, 4> lines;
    std::size_t begin = 0;
    for (std::string& line : lines) {
      const std::size_t end = text.find('\n', begin);
      if (end == std::string::npos) throw Error("rendezvous: a card that is none of this version");
      line = text.substr(begin, end - begin);
      begin = end + 1;
    }
    if (lines[0] != concat(kWireVersion)) {
      throw Error(concat("rendezvous: the messages of a process have version ", lines[0], ", this one's ",
                         kWireVersion, "; start the same program everywhere"));
    }
    return {lines[1], lines[2], lines[3], text.substr(begin)};
  }
};

Duration silence_of(const RunEnvironment& environment) {
  return environment.silence.value_or(transport::wire::Remote::kDefaultSilence);
}

// The card of this process, and the exchange of cards with the others.
class CardExchange {
 public:
  CardExchange(const RunEnvironment& environment, Duration patience);

  const Card& own() const { return own_; }
  const std::string& token() const { return token_; }
  const std::shared_ptr<MpiWorld>& mpi() const { return mpi_; }
  std::vector<Card> exchange() const;
  // The engine that all cards name. Not called before the cards were found to fit: making that of MPI takes
  // all processes.
  std::unique_ptr<Engine> engine();

 private:
  void start_mpi();
  std::vector<std::string> meet_at_a_port() const;

  const RunEnvironment& environment_;
  Duration patience_;
  std::shared_ptr<MpiWorld> mpi_;
  std::unique_ptr<Engine> ucx_;
  Card own_;
  std::string token_;  // of the job; all have the same
};

CardExchange::CardExchange(const RunEnvironment& environment, Duration patience)
    : environment_(environment), patience_(patience), token_(environment.token) {
  own_.host = host_identity();
  own_.silence = format_duration(silence_of(environment));
  if (environment.through_mpi) start_mpi();
  const bool has_ucx = transport::wire::why_no_ucx().empty();
  if (environment.transport == "mpi" || (environment.transport == "auto" && !has_ucx && mpi_)) {
    own_.engine = "mpi";
  } else if (environment.transport == "ucx" || (environment.transport == "auto" && has_ucx)) {
    ucx_ = transport::wire::make_ucx(environment.rank);
    own_.engine = ucx_->name();
    own_.address = ucx_->card();
  }
}

void CardExchange::start_mpi() {
  mpi_ = std::make_shared<MpiWorld>();
  if (mpi_->rank() != environment_.rank || mpi_->size() != environment_.ranks) {
    throw InvalidArgument(concat("MPI counts this process as rank ", mpi_->rank(), " of ", mpi_->size(),
                                 ", and it was started by ", environment_.started_by,
                                 "; is that the launcher of ", transport::wire::mpi_version(), "?"));
  }
  token_ = mpi_->exchange(environment_.rank == 0 ? make_token() : "").front();
}

std::vector<Card> CardExchange::exchange() const {
  std::vector<Card> cards;
  for (const std::string& text : mpi_ ? mpi_->exchange(own_.text()) : meet_at_a_port())
    cards.push_back(Card::parse(text));
  return cards;
}

std::vector<std::string> CardExchange::meet_at_a_port() const {
  RendezvousAddress point = parse_rendezvous_address(environment_.rendezvous, "STARLING_RENDEZVOUS");
  point.token = environment_.token;
  std::optional<RendezvousServer> server;
  if (environment_.rank == 0) {
    server.emplace(RendezvousServer::Options{.bind = point.host,
                                             .port = point.port,
                                             .token = point.token,
                                             .ranks = environment_.ranks,
                                             .patience = patience_});
  }
  auto texts = meet(point, environment_.rank, environment_.ranks, own_.text(), patience_);
  if (server && !server->served(patience_)) throw Timeout("rendezvous: somebody does not take the cards");
  return texts;
}

std::unique_ptr<Engine> CardExchange::engine() {
  return own_.engine == "mpi" ? transport::wire::make_mpi(mpi_) : std::move(ucx_);
}

// Only for a run on several hosts.
void check_engines(const std::vector<Card>& cards, const RunEnvironment& environment) {
  const Card& own = cards[static_cast<std::size_t>(environment.rank)];
  for (std::size_t rank = 0; rank < cards.size(); ++rank) {
    if (cards[rank].engine != own.engine) {
      throw Error(concat("rank ", environment.rank, " uses the network by ", own.engine, ", rank ", rank,
                         " by ", cards[rank].engine, "; set STARLING_TRANSPORT alike"));
    }
    if (cards[rank].silence != own.silence) {
      throw Error(concat("rank ", environment.rank, " allows the others ", own.silence, " of silence, rank ",
                         rank, " ", cards[rank].silence, "; set STARLING_SILENCE alike"));
    }
    if (own.engine == "none" && cards[rank].host != own.host) {
      throw Error(concat(
          "rank ", rank, " is on another host than rank ", environment.rank, ", and there is no network: ",
          environment.transport == "shm" ? "STARLING_TRANSPORT is shm" : transport::wire::why_no_ucx()));
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
std::string arena_name(const std::string& token, const std::string& host, Rank lowest) {
  const std::string secret = concat(token, "\n", host, "\n", lowest);
  return concat("starling-", hash_of(std::as_bytes(std::span(secret))));
}

// The ranks of this host wait for each other, and for a message of those on others.
runtime::Task<> say_that_all_are_here(transport::Transport& net, std::vector<Rank> members,
                                      std::vector<Rank> others) {
  co_await collective::barrier(net, members, kHere);
  co_await transport::wire::greet(net, others);
}

void come_together(runtime::LoopScheduler& loop, transport::Transport& net, const std::vector<Rank>& members,
                   const std::vector<Rank>& others, Duration patience) {
  net.set_patience(patience);
  try {
    runtime::run(loop, say_that_all_are_here(net, members, others), "joining");
  } catch (const PeerLost& lost) {
    const bool elsewhere = std::find(others.begin(), others.end(), lost.rank) != others.end();
    throw PeerLost(lost.rank,
                   concat(net.why_lost(lost.rank), ", while joining",
                          elsewhere ? "; do both hosts let connections to any port through?" : ""));
  }
  net.set_patience(kForever);
}

Joined join_here(runtime::LoopScheduler& loop, const RunEnvironment& environment, Duration patience) {
  std::vector<Rank> all(static_cast<std::size_t>(environment.ranks));
  std::iota(all.begin(), all.end(), 0);
  try {
    const transport::shm::HostArena local(loop, environment.host_socket, all, environment.rank, patience);
    Joined joined{
        std::make_unique<transport::ShmTransport>(loop, local.arena(), environment.rank, environment.link)};
    come_together(loop, *joined.net, all, {}, patience);
    return joined;
  } catch (const Timeout& error) {
    throw Timeout(concat(environment.started_by, "; socket ", environment.host_socket, ": ", error.what()));
  }
}

Joined join_by_cards(runtime::LoopScheduler& loop, const RunEnvironment& environment, Duration patience) {
  CardExchange visit(environment, patience);
  const std::vector<Card> cards = visit.exchange();
  std::vector<Rank> members, others;
  std::vector<std::string> addresses;
  for (Rank rank = 0; rank < environment.ranks; ++rank) {
    const Card& card = cards[static_cast<std::size_t>(rank)];
    (card.host == visit.own().host ? members : others).push_back(rank);
    addresses.push_back(card.address);
  }
  // Before the memory is handed out, which takes the first one's loop: making MPI's takes all processes too.
  std::unique_ptr<Engine> engine;
  if (!others.empty()) {
    check_engines(cards, environment);
    engine = visit.engine();
  }
  Joined joined{nullptr, count_hosts(cards), visit.mpi()};
  const std::string name = arena_name(visit.token(), visit.own().host, members.front());
  const transport::shm::HostArena local(loop, name, members, environment.rank, patience);
  auto& net = joined.net;
  if (others.empty()) {
    net = std::make_unique<transport::ShmTransport>(loop, local.arena(), environment.rank);
  } else {
    engine->connect(addresses, others);
    transport::wire::Remote::Options setting{
        .engine = std::move(engine), .peers = others, .silence = silence_of(environment)};
    net = std::make_unique<transport::ShmTransport>(loop, local.arena(), environment.rank, environment.ranks,
                                                    std::move(setting));
  }
  net->set_hosts(std::make_shared<const std::vector<int>>(joined.host_of_rank));
  come_together(loop, *net, members, others, patience);
  return joined;
}

}  // namespace

bool joins_by_itself(const RunEnvironment& environment) {
  return !environment.rendezvous.empty() || !environment.host_socket.empty() || environment.through_mpi;
}

Joined join_run(runtime::LoopScheduler& loop, const RunEnvironment& environment, Duration patience) {
  return environment.host_socket.empty() ? join_by_cards(loop, environment, patience)
                                         : join_here(loop, environment, patience);
}

}  // namespace starling::join
