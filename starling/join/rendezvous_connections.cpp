#include "starling/join/rendezvous_connections.h"

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
#include "starling/join/tcp_socket.h"

namespace starling::join {

using asio::ip::tcp;
using Message = std::shared_ptr<const std::string>;

namespace {

constexpr int kAtOnce = 64;                                 // accepted before the others have a turn
constexpr Duration kPause = std::chrono::milliseconds(50);  // when the process has no descriptors left

// In this order.
enum class Phase { kStranger, kSeated, kParting, kGone };

}  // namespace

struct Connection {
  explicit Connection(asio::io_context& io) : socket(io), timer(io) {}

  tcp::socket socket;
  asio::steady_timer timer;
  Phase phase = Phase::kStranger;
  bool to_settle = false;
  std::array<char, kHeadBytes> head{};
  std::string body;
  std::array<char, 512> ignored{};
  std::deque<Message> sender;  // the first is being written
};

class RendezvousConnections::Acceptor {
 public:
  Acceptor(const Options& setting, ConnectionHandler& host);

  asio::io_context& io() { return io_; }
  std::uint16_t port() const { return port_; }
  void seat(const ConnectionPtr& connection, Duration patience);
  void refuse(const ConnectionPtr& connection, const Refusal& refusal);
  void part(const ConnectionPtr& connection, Message last, Duration patience);
  bool present(const ConnectionPtr& connection);

 private:
  void accept();
  void accept_later();
  void take();
  void greet(Descriptor socket);
  void read(const ConnectionPtr& connection, asio::mutable_buffer to,
            void (Acceptor::*next)(const ConnectionPtr&));
  void heard_head(const ConnectionPtr& connection);
  void heard_hello(const ConnectionPtr& connection);
  void send(const ConnectionPtr& connection, Message message);
  void write(const ConnectionPtr& connection);
  void listen(const ConnectionPtr& connection);
  void arm(const ConnectionPtr& connection, Duration patience);
  void out_of_time(const ConnectionPtr& connection);
  void settle(const ConnectionPtr& connection);
  void drop(ConnectionPtr connection);

  ConnectionHandler& host_;
  std::size_t most_strangers_;
  Duration first_word_;
  asio::io_context io_{1};
  tcp protocol_ = tcp::v4();
  tcp::acceptor listener_{io_};
  std::uint16_t port_ = 0;
  asio::steady_timer pause_{io_};
  std::list<ConnectionPtr> strangers_;  // and the refused, oldest first
};

RendezvousConnections::Acceptor::Acceptor(const Options& setting, ConnectionHandler& host)
    : host_(host), most_strangers_(setting.strangers), first_word_(setting.first_word) {
  Listener made = listen_at(setting.bind, setting.port);
  port_ = made.port;
  if (made.v6) protocol_ = tcp::v6();
  listener_.assign(protocol_, made.socket.get());
  made.socket.release();
  accept();
}

void RendezvousConnections::Acceptor::accept() {
  listener_.async_wait(tcp::acceptor::wait_read, [this](asio::error_code code) {
    if (!code) take();
  });
}

void RendezvousConnections::Acceptor::take() {
  for (int i = 0; i < kAtOnce; ++i) {
    Descriptor socket = accept_next(listener_.native_handle());
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

void RendezvousConnections::Acceptor::accept_later() {
  pause_.expires_after(kPause);
  pause_.async_wait([this](asio::error_code code) {
    if (!code) accept();
  });
}

void RendezvousConnections::Acceptor::greet(Descriptor socket) {
  const auto connection = std::make_shared<Connection>(io_);
  asio::error_code code;
  connection->socket.assign(protocol_, socket.get(), code);
  if (code) return;
  socket.release();
  if (strangers_.size() >= most_strangers_) drop(strangers_.front());
  strangers_.push_back(connection);
  arm(connection, first_word_);
  read(connection, asio::buffer(connection->head), &Acceptor::heard_head);
}

void RendezvousConnections::Acceptor::read(const ConnectionPtr& connection, asio::mutable_buffer to,
                                           void (Acceptor::*next)(const ConnectionPtr&)) {
  asio::async_read(connection->socket, to, [this, connection, next](asio::error_code code, std::size_t) {
    if (connection->phase == Phase::kGone) return;
    if (code) return drop(connection);
    (this->*next)(connection);
  });
}

// A connection that does not speak our protocol gets no answer.
void RendezvousConnections::Acceptor::heard_head(const ConnectionPtr& connection) {
  const auto head = read_head({connection->head.data(), connection->head.size()});
  if (!head) return drop(connection);
  if (head->version != kRendezvousVersion) {
    return refuse(connection, {false, concat("the server speaks version ", kRendezvousVersion,
                                             " of the protocol, this process ", head->version)});
  }
  if (head->word != Word::kHello || head->length > most_bytes(Word::kHello, 0)) {
    return refuse(connection, {false, "its message is damaged"});
  }
  connection->body.resize(head->length);
  read(connection, asio::buffer(connection->body), &Acceptor::heard_hello);
}

void RendezvousConnections::Acceptor::heard_hello(const ConnectionPtr& connection) {
  auto hello = read_hello(std::exchange(connection->body, {}));
  if (!hello) return refuse(connection, {false, "its message is damaged"});
  host_.said_hello(connection, std::move(*hello));
}

void RendezvousConnections::Acceptor::seat(const ConnectionPtr& connection, Duration patience) {
  strangers_.remove(connection);
  connection->phase = Phase::kSeated;
  connection->to_settle = true;
  arm(connection, patience);
  send(connection, std::make_shared<const std::string>(welcome_message()));
  listen(connection);
}

void RendezvousConnections::Acceptor::refuse(const ConnectionPtr& connection, const Refusal& refusal) {
  part(connection, std::make_shared<const std::string>(refusal_message(refusal)), first_word_);
  listen(connection);
}

void RendezvousConnections::Acceptor::part(const ConnectionPtr& connection, Message last, Duration patience) {
  connection->phase = Phase::kParting;
  arm(connection, patience);
  send(connection, std::move(last));
}

void RendezvousConnections::Acceptor::send(const ConnectionPtr& connection, Message message) {
  connection->sender.push_back(std::move(message));
  if (connection->sender.size() == 1) write(connection);
}

void RendezvousConnections::Acceptor::write(const ConnectionPtr& connection) {
  const auto buffer = asio::buffer(*connection->sender.front());
  asio::async_write(connection->socket, buffer, [this, connection](asio::error_code code, std::size_t) {
    if (connection->phase == Phase::kGone) return;
    if (code) return drop(connection);
    connection->sender.pop_front();
    if (!connection->sender.empty()) return write(connection);
    if (connection->phase != Phase::kParting) return;
    asio::error_code ignored;
    connection->socket.shutdown(tcp::socket::shutdown_send, ignored);
    settle(connection);
  });
}

// Until the visitor closes or is dropped: closing a socket with unread data would destroy the last message to
// the peer. A seated visitor that goes on sending is dropped.
void RendezvousConnections::Acceptor::listen(const ConnectionPtr& connection) {
  const auto buffer = asio::buffer(connection->ignored);
  connection->socket.async_read_some(buffer, [this, connection](asio::error_code code, std::size_t) {
    if (connection->phase == Phase::kGone) return;
    if (code || connection->phase == Phase::kSeated) return drop(connection);
    listen(connection);
  });
}

void RendezvousConnections::Acceptor::arm(const ConnectionPtr& connection, Duration patience) {
  connection->timer.expires_after(std::min(patience, kForever));
  connection->timer.async_wait([this, connection](asio::error_code code) {
    // It may have been armed anew when this call was already due.
    const bool early = connection->timer.expiry() > std::chrono::steady_clock::now();
    if (!code && !early && connection->phase != Phase::kGone) out_of_time(connection);
  });
}

void RendezvousConnections::Acceptor::out_of_time(const ConnectionPtr& connection) {
  if (connection->phase != Phase::kSeated) return drop(connection);
  host_.out_of_patience(connection);
}

void RendezvousConnections::Acceptor::settle(const ConnectionPtr& connection) {
  if (std::exchange(connection->to_settle, false)) host_.settled(connection);
}

void RendezvousConnections::Acceptor::drop(ConnectionPtr connection) {
  connection->phase = Phase::kGone;
  strangers_.remove(connection);
  connection->timer.cancel();
  asio::error_code ignored;
  connection->socket.close(ignored);
  settle(connection);
}

bool RendezvousConnections::Acceptor::present(const ConnectionPtr& connection) {
  if (connection->phase == Phase::kGone) return false;
  if (still_open(connection->socket.native_handle())) return true;
  drop(connection);
  return false;
}

RendezvousConnections::RendezvousConnections(const Options& setting, ConnectionHandler& host)
    : acceptor_(std::make_unique<Acceptor>(setting, host)) {}

RendezvousConnections::~RendezvousConnections() = default;

std::uint16_t RendezvousConnections::port() const { return acceptor_->port(); }

void RendezvousConnections::run() { acceptor_->io().run(); }

void RendezvousConnections::stop() { acceptor_->io().stop(); }

void RendezvousConnections::post(std::function<void()> work) { asio::post(acceptor_->io(), std::move(work)); }

void RendezvousConnections::seat(const ConnectionPtr& connection, Duration patience) {
  acceptor_->seat(connection, patience);
}

void RendezvousConnections::refuse(const ConnectionPtr& connection, const Refusal& refusal) {
  acceptor_->refuse(connection, refusal);
}

void RendezvousConnections::part(const ConnectionPtr& connection, Message last, Duration patience) {
  acceptor_->part(connection, std::move(last), patience);
}

bool RendezvousConnections::present(const ConnectionPtr& connection) {
  return acceptor_->present(connection);
}

}  // namespace starling::join
