#include "starling/session/rendezvous_server.h"

#include <signal.h>

#include <algorithm>
#include <future>
#include <set>
#include <thread>
#include <utility>

#include "starling/core/error.h"
#include "starling/session/attendance.h"
#include "starling/session/guests.h"

namespace starling::session {

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

class RendezvousServer::Hall final : private GuestHost {
 public:
  explicit Hall(const Options& options)
      : attendance_(options.token, options.ranks, options.meetings),
        patience_(options.patience),
        first_word_(options.first_word),
        guests_({.bind = options.bind,
                 .port = options.port,
                 .strangers = static_cast<std::size_t>(options.strangers),
                 .first_word = options.first_word},
                *this),
        seated_(static_cast<std::size_t>(options.ranks)),
        thread_([this] { run(); }) {}
  ~Hall() {
    guests_.stop();
    thread_.join();
  }

  std::uint16_t port() const { return guests_.port(); }
  std::vector<Rank> missing();
  bool served(Duration patience) const {
    return is_served_.wait_for(std::min(patience, kForever)) == std::future_status::ready;
  }

 private:
  void run();
  void said_hello(const GuestPtr& guest, Hello hello) override;
  void out_of_patience(const GuestPtr& guest) override;
  void settled(const GuestPtr& guest) override;
  void conclude();
  void leave(const GuestPtr& guest);

  Attendance attendance_;
  Duration patience_;
  Duration first_word_;
  Guests guests_;                 // outlives the pointers to guests below
  std::vector<GuestPtr> seated_;  // by rank
  std::set<GuestPtr> owed_;       // have not been sent all of their cards
  std::promise<void> served_;
  std::shared_future<void> is_served_ = served_.get_future();
  std::thread thread_;
};

void RendezvousServer::Hall::run() {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);  // signals are for the program's own threads
  guests_.run();
}

std::vector<Rank> RendezvousServer::Hall::missing() {
  std::promise<std::vector<Rank>> answer;
  guests_.post([&] { answer.set_value(attendance_.missing()); });
  return answer.get_future().get();
}

void RendezvousServer::Hall::said_hello(const GuestPtr& guest, Hello hello) {
  if (const auto objection = attendance_.objection(hello)) return guests_.refuse(guest, *objection);
  GuestPtr& seat = seated_[hello.rank];
  // The old process may have died a moment ago; then this one takes its place.
  if (seat && guests_.present(GuestPtr(seat))) {
    const std::string why = concat("another process with rank ", hello.rank, " is there already");
    return guests_.refuse(guest, {true, why});
  }
  seat = guest;
  attendance_.sit(static_cast<Rank>(hello.rank), std::move(hello.card));
  const Duration wanted = std::chrono::milliseconds(hello.patience_ms);
  guests_.seat(guest, std::min(patience_, wanted));
  if (attendance_.complete()) conclude();
}

void RendezvousServer::Hall::conclude() {
  const auto cards = std::make_shared<const std::string>(cards_message(attendance_.conclude()));
  owed_.insert(seated_.begin(), seated_.end());
  for (GuestPtr& seat : seated_) guests_.part(std::exchange(seat, nullptr), cards, patience_);
}

void RendezvousServer::Hall::out_of_patience(const GuestPtr& guest) {
  const auto absent = std::make_shared<const std::string>(missing_message(attendance_.missing()));
  leave(guest);
  guests_.part(guest, absent, first_word_);
}

void RendezvousServer::Hall::settled(const GuestPtr& guest) {
  leave(guest);
  if (owed_.erase(guest) == 1 && owed_.empty() && attendance_.over()) served_.set_value();
}

void RendezvousServer::Hall::leave(const GuestPtr& guest) {
  const auto seat = std::find(seated_.begin(), seated_.end(), guest);
  if (seat == seated_.end()) return;
  seat->reset();
  attendance_.leave(static_cast<Rank>(seat - seated_.begin()));
}

RendezvousServer::RendezvousServer(const Options& options)
    : hall_(std::make_unique<Hall>(checked(options))) {}

RendezvousServer::~RendezvousServer() = default;

std::uint16_t RendezvousServer::port() const { return hall_->port(); }

std::vector<Rank> RendezvousServer::missing() const { return hall_->missing(); }

bool RendezvousServer::served(Duration patience) const { return hall_->served(patience); }

}  // namespace starling::session
