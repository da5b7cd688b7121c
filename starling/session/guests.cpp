#include "starling/session/guests.h"

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/post.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <deque>
#include <list>
#include <utility>

#include "starling/core/text.h"
#include "starling/session/tcp_socket.h"

namespace starling::session {

using asio::ip::tcp;
using Message = std::shared_ptr<const std::string>;

namespace {

constexpr int kAtOnce = 64;                                 // accepted before the others have a turn
constexpr Duration kPause = std::chrono::milliseconds(50);  // when the process has no descriptors left

// In this order.
enum class Phase { kStranger, kSeated, kParting, kGone };

}  // namespace

struct Guest {
  explicit Guest(asio::io_context& io) : socket(io), timer(io) {}

  tcp::socket socket;
  asio::steady_timer timer;
  Phase phase = Phase::kStranger;
  bool to_settle = false;
  std::array<char, kHeadBytes> head{};
  std::string body;
  std::array<char, 512> ignored{};
  std::deque<Message> outbox;  // the first is being written
};

class Guests::Door {
 public:
  Door(const Setting& setting, GuestHost& host);

  asio::io_context& io() { return io_; }
  std::uint16_t port() const { return port_; }
  void seat(const GuestPtr& guest, Duration patience);
  void refuse(const GuestPtr& guest, const Refusal& refusal);
  void part(const GuestPtr& guest, Message last, Duration patience);
  bool present(const GuestPtr& guest);

 private:
  void accept();
  void accept_later();
  void take();
  void greet(transport::shm::Descriptor socket);
  void read(const GuestPtr& guest, asio::mutable_buffer to, void (Door::*next)(const GuestPtr&));
  void heard_head(const GuestPtr& guest);
  void heard_hello(const GuestPtr& guest);
  void send(const GuestPtr& guest, Message message);
  void write(const GuestPtr& guest);
  void listen(const GuestPtr& guest);
  void arm(const GuestPtr& guest, Duration patience);
  void out_of_time(const GuestPtr& guest);
  void settle(const GuestPtr& guest);
  void drop(GuestPtr guest);

  GuestHost& host_;
  std::size_t most_strangers_;
  Duration first_word_;
  asio::io_context io_{1};
  tcp protocol_ = tcp::v4();
  tcp::acceptor listener_{io_};
  std::uint16_t port_ = 0;
  asio::steady_timer pause_{io_};
  std::list<GuestPtr> strangers_;  // and the refused, oldest first
};

Guests::Door::Door(const Setting& setting, GuestHost& host)
    : host_(host), most_strangers_(setting.strangers), first_word_(setting.first_word) {
  Listener made = listen_at(setting.bind, setting.port);
  port_ = made.port;
  if (made.v6) protocol_ = tcp::v6();
  listener_.assign(protocol_, made.socket.get());
  made.socket.release();
  accept();
}

void Guests::Door::accept() {
  listener_.async_wait(tcp::acceptor::wait_read, [this](asio::error_code code) {
    if (!code) take();
  });
}

void Guests::Door::take() {
  for (int i = 0; i < kAtOnce; ++i) {
    transport::shm::Descriptor socket = accept_next(listener_.native_handle());
    if (socket.valid()) {
      greet(std::move(socket));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      break;
    } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
      if (strangers_.empty()) return accept_later();
      drop(strangers_.front());
    }
  }
  accept();
}

void Guests::Door::accept_later() {
  pause_.expires_after(kPause);
  pause_.async_wait([this](asio::error_code code) {
    if (!code) accept();
  });
}

void Guests::Door::greet(transport::shm::Descriptor socket) {
  const auto guest = std::make_shared<Guest>(io_);
  asio::error_code code;
  guest->socket.assign(protocol_, socket.get(), code);
  if (code) return;
  socket.release();
  if (strangers_.size() >= most_strangers_) drop(strangers_.front());
  strangers_.push_back(guest);
  arm(guest, first_word_);
  read(guest, asio::buffer(guest->head), &Door::heard_head);
}

void Guests::Door::read(const GuestPtr& guest, asio::mutable_buffer to, void (Door::*next)(const GuestPtr&)) {
  asio::async_read(guest->socket, to, [this, guest, next](asio::error_code code, std::size_t) {
    if (guest->phase == Phase::kGone) return;
    if (code) return drop(guest);
    (this->*next)(guest);
  });
}

// Who does not speak our language is told nothing.
void Guests::Door::heard_head(const GuestPtr& guest) {
  const auto head = read_head({guest->head.data(), guest->head.size()});
  if (!head) return drop(guest);
  if (head->version != kRendezvousVersion) {
    return refuse(guest, {false, concat("the server speaks version ", kRendezvousVersion,
                                        " of the protocol, this process ", head->version)});
  }
  if (head->word != Word::kHello || head->length > most_bytes(Word::kHello, 0)) {
    return refuse(guest, {false, "its message is damaged"});
  }
  guest->body.resize(head->length);
  read(guest, asio::buffer(guest->body), &Door::heard_hello);
}

void Guests::Door::heard_hello(const GuestPtr& guest) {
  auto hello = read_hello(std::exchange(guest->body, {}));
  if (!hello) return refuse(guest, {false, "its message is damaged"});
  host_.said_hello(guest, std::move(*hello));
}

void Guests::Door::seat(const GuestPtr& guest, Duration patience) {
  strangers_.remove(guest);
  guest->phase = Phase::kSeated;
  guest->to_settle = true;
  arm(guest, patience);
  send(guest, std::make_shared<const std::string>(welcome_message()));
  listen(guest);
}

void Guests::Door::refuse(const GuestPtr& guest, const Refusal& refusal) {
  part(guest, std::make_shared<const std::string>(refusal_message(refusal)), first_word_);
  listen(guest);
}

void Guests::Door::part(const GuestPtr& guest, Message last, Duration patience) {
  guest->phase = Phase::kParting;
  arm(guest, patience);
  send(guest, std::move(last));
}

void Guests::Door::send(const GuestPtr& guest, Message message) {
  guest->outbox.push_back(std::move(message));
  if (guest->outbox.size() == 1) write(guest);
}

void Guests::Door::write(const GuestPtr& guest) {
  const auto buffer = asio::buffer(*guest->outbox.front());
  asio::async_write(guest->socket, buffer, [this, guest](asio::error_code code, std::size_t) {
    if (guest->phase == Phase::kGone) return;
    if (code) return drop(guest);
    guest->outbox.pop_front();
    if (!guest->outbox.empty()) return write(guest);
    if (guest->phase != Phase::kParting) return;
    asio::error_code ignored;
    guest->socket.shutdown(tcp::socket::shutdown_send, ignored);
    settle(guest);
  });
}

// Until the guest closes or is dropped: closing a socket in which something lies unread would take from the
// peer what was said to it last. Who has a seat and goes on talking is dropped.
void Guests::Door::listen(const GuestPtr& guest) {
  const auto buffer = asio::buffer(guest->ignored);
  guest->socket.async_read_some(buffer, [this, guest](asio::error_code code, std::size_t) {
    if (guest->phase == Phase::kGone) return;
    if (code || guest->phase == Phase::kSeated) return drop(guest);
    listen(guest);
  });
}

void Guests::Door::arm(const GuestPtr& guest, Duration patience) {
  guest->timer.expires_after(std::min(patience, kForever));
  guest->timer.async_wait([this, guest](asio::error_code code) {
    // It may have been armed anew when this call was already due.
    const bool early = guest->timer.expiry() > std::chrono::steady_clock::now();
    if (!code && !early && guest->phase != Phase::kGone) out_of_time(guest);
  });
}

void Guests::Door::out_of_time(const GuestPtr& guest) {
  if (guest->phase != Phase::kSeated) return drop(guest);
  host_.out_of_patience(guest);
}

void Guests::Door::settle(const GuestPtr& guest) {
  if (std::exchange(guest->to_settle, false)) host_.settled(guest);
}

void Guests::Door::drop(GuestPtr guest) {
  guest->phase = Phase::kGone;
  strangers_.remove(guest);
  guest->timer.cancel();
  asio::error_code ignored;
  guest->socket.close(ignored);
  settle(guest);
}

bool Guests::Door::present(const GuestPtr& guest) {
  if (guest->phase == Phase::kGone) return false;
  if (still_open(guest->socket.native_handle())) return true;
  drop(guest);
  return false;
}

Guests::Guests(const Setting& setting, GuestHost& host) : door_(std::make_unique<Door>(setting, host)) {}

Guests::~Guests() = default;

std::uint16_t Guests::port() const { return door_->port(); }

void Guests::run() { door_->io().run(); }

void Guests::stop() { door_->io().stop(); }

void Guests::post(std::function<void()> work) { asio::post(door_->io(), std::move(work)); }

void Guests::seat(const GuestPtr& guest, Duration patience) { door_->seat(guest, patience); }

void Guests::refuse(const GuestPtr& guest, const Refusal& refusal) { door_->refuse(guest, refusal); }

void Guests::part(const GuestPtr& guest, Message last, Duration patience) {
  door_->part(guest, std::move(last), patience);
}

bool Guests::present(const GuestPtr& guest) { return door_->present(guest); }

}  // namespace starling::session
