#include "starling/join/rendezvous_server.h"

#include <signal.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "starling/core/error.h"
#include "starling/join/rendezvous_connections.h"
#include "starling/join/rendezvous_roster.h"

namespace starling::join {

namespace {

void check(const RendezvousServer::Options& options) {
  const auto refuse = [](const auto&... why) { throw InvalidArgument(concat("rendezvous: ", why...)); };
  if (options.token.empty() || options.token.size() > kMostTokenBytes) {
    refuse("the token has ", options.token.size(), " characters; allowed: 1 to ", kMostTokenBytes);
  }
  if (options.ranks < 1 || options.ranks > kMostMeetingRanks) {
    refuse(options.ranks, " ranks; allowed: 1 to ", kMostMeetingRanks);
  }
  if (options.meetings < 1) refuse(options.meetings, " meetings; allowed: 1 and more");
  if (options.strangers < 1) refuse("room for ", options.strangers, " strangers; allowed: 1 and more");
}

const RendezvousServer::Options& checked(const RendezvousServer::Options& options) {
  check(options);
  return options;
}

}  // namespace

class RendezvousServer::State final : private ConnectionHandler {
 public:
  explicit State(const Options& options)
      : attendance_(options.token, options.ranks, options.meetings),
        patience_(options.patience),
        first_word_(options.first_word),
        connections_({.bind = options.bind,
                      .port = options.port,
                      .strangers = static_cast<std::size_t>(options.strangers),
                      .first_word = options.first_word},
                     *this),
        seated_(static_cast<std::size_t>(options.ranks)),
        thread_([this] { run(); }) {}
  ~State() {
    connections_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return connections_.port(); }
  std::vector<Rank> missing();
  bool served(Duration patience) const {
    return is_served_.wait_for(std::min(patience, kForever)) == std::future_status::ready;
  }

 private:
  void run();
  void said_hello(const ConnectionPtr& connection, Hello hello) override;
  void out_of_patience(const ConnectionPtr& connection) override;
  void settled(const ConnectionPtr& connection) override;
  void conclude();
  void leave(const ConnectionPtr& connection);

  RendezvousRoster attendance_;
  Duration patience_;
  Duration first_word_;
  RendezvousConnections connections_;  // outlives the pointers to its connections below
  std::vector<ConnectionPtr> seated_;  // by rank
  std::set<ConnectionPtr> owed_;       // have not been sent all of their cards
  std::promise<void> served_;
  std::shared_future<void> is_served_ = served_.get_future();
  std::thread thread_;
};

void RendezvousServer::State::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's own threads
  connections_.run();
}

std::vector<Rank> RendezvousServer::State::missing() {
  std::promise<std::vector<Rank>> answer;
  connections_.post([&] { answer.set_value(attendance_.missing()); });
  return answer.get_future().get();
}

void RendezvousServer::State::said_hello(const ConnectionPtr& connection, Hello hello) {
  if (const auto objection = attendance_.objection(hello)) return connections_.refuse(connection, *objection);
  ConnectionPtr& seat = seated_[hello.rank];
  // The old process may have died a moment ago; then this one takes its seat.
  if (seat && connections_.present(ConnectionPtr(seat))) {
    const std::string why = concat("another process with rank ", hello.rank, " is there already");
    return connections_.refuse(connection, {true, why});
  }
  seat = connection;
  attendance_.sit(static_cast<Rank>(hello.rank), std::move(hello.card));
  const Duration wanted = std::chrono::milliseconds(hello.patience_ms);
  connections_.seat(connection, std::min(patience_, wanted));
  if (attendance_.complete()) conclude();
}

void RendezvousServer::State::conclude() {
  const auto cards = std::make_shared<const std::string>(cards_message(attendance_.conclude()));
  owed_.insert(seated_.begin(), seated_.end());
  for (ConnectionPtr& seat : seated_) connections_.part(std::exchange(seat, nullptr), cards, patience_);
}

void RendezvousServer::State::out_of_patience(const ConnectionPtr& connection) {
  const auto absent = std::make_shared<const std::string>(missing_message(attendance_.missing()));
  leave(connection);
  connections_.part(connection, absent, first_word_);
}

void RendezvousServer::State::settled(const ConnectionPtr& connection) {
  leave(connection);
  if (owed_.erase(connection) == 1 && owed_.empty() && attendance_.over()) served_.set_value();
}

void RendezvousServer::State::leave(const ConnectionPtr& connection) {
  const auto seat = std::find(seated_.begin(), seated_.end(), connection);
  if (seat == seated_.end()) return;
  seat->reset();
  attendance_.leave(static_cast<Rank>(seat - seated_.begin()));
}

RendezvousServer::RendezvousServer(const Options& options)
    : state_(std::make_unique<State>(checked(options))) {}

RendezvousServer::~RendezvousServer() = default;

std::uint16_t RendezvousServer::port() const { return state_->port(); }

std::vector<Rank> RendezvousServer::missing() const { return state_->missing(); }

bool RendezvousServer::served(Duration patience) const { return state_->served(patience); }

}  // namespace starling::join
