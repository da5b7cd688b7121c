#include "starling/join/rendezvous.h"

#include <algorithm>
#include <array>
#include <asio/buffer.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <optional>
#include <thread>

#include "starling/core/error.h"
#include "starling/join/rendezvous_protocol.h"
#include "starling/join/tcp_socket.h"

namespace starling::join {

namespace {

using asio::ip::tcp;
using std::chrono::milliseconds;
using std::chrono::seconds;
using std::chrono::steady_clock;
using Moment = steady_clock::time_point;

constexpr Duration kFirstPause = milliseconds(10);  // between attempts; doubled every time
constexpr Duration kLongestPause = milliseconds(500);
constexpr Duration kOneAttempt = seconds(5);  // for an address that swallows packets; another may do better
constexpr Duration kGrace = seconds(2);       // for the server to name the missing ranks
constexpr std::size_t kMostNamed = 16;        // of the ranks that are missing

// A connection whose operations end at a deadline, with asio::error::timed_out.
class Line {
 public:
  asio::error_code connect(const tcp::endpoint& endpoint, Moment end) {
    asio::error_code code;
    socket_.open(endpoint.protocol(), code);
    if (code) return code;
    close_on_exec(socket_.native_handle());
    code = complete([&](auto done) { socket_.async_connect(endpoint, done); }, end);
    if (code) return code;
    // If nothing listens on a port of this host, TCP may connect a socket to itself.
    const bool to_itself = socket_.local_endpoint(code) == socket_.remote_endpoint(code);
    return to_itself ? asio::error_code(asio::error::connection_refused) : code;
  }
  asio::error_code write(const std::string& bytes, Moment end) {
    return complete([&](auto done) { asio::async_write(socket_, asio::buffer(bytes), done); }, end);
  }
  asio::error_code read(char* to, std::size_t count, Moment end) {
    return complete([&](auto done) { asio::async_read(socket_, asio::buffer(to, count), done); }, end);
  }

 private:
  template <class Start>
  asio::error_code complete(Start start, Moment end) {
    asio::error_code result;
    start([&](asio::error_code code, auto...) { result = code; });
    io_.restart();
    io_.run_until(end);
    if (io_.stopped()) return result;
    asio::error_code ignored;
    socket_.close(ignored);
    io_.run();  // the operation's handler refers to `result`
    return asio::error::timed_out;
  }

  asio::io_context io_{1};
  tcp::socket socket_{io_};
};

struct Answer {
  Head head;
  std::string body;
};

// One process's wish to meet the others.
class Visitor {
 public:
  Visitor(const RendezvousAddress& point, Rank rank, int ranks, std::string_view card, Duration patience);

  std::vector<std::string> make();

 private:
  std::vector<tcp::endpoint> addresses();
  std::optional<std::vector<std::string>> attempt(const tcp::endpoint& address);
  std::optional<Answer> receive(Line& line, Moment end);
  std::vector<std::string> conclude(const Answer& answer) const;
  bool keep(asio::error_code code);
  std::string name() const { return concat("rendezvous ", address_of(point_)); }
  Duration waited() const { return steady_clock::now() - start_; }
  [[noreturn]] void refuse(const Answer& answer) const;
  [[noreturn]] void tell_missing(const std::vector<Rank>& missing) const;

  const RendezvousAddress& point_;
  int ranks_;
  Hello hello_;
  Moment start_ = steady_clock::now();
  Moment end_;
  std::string trouble_;  // why the last attempt failed
};

void check(const RendezvousAddress& point, Rank rank, int ranks, std::string_view card) {
  const auto refuse = [&](const auto&... why) {
    throw InvalidArgument(concat("rendezvous ", address_of(point), ": ", why...));
  };
  if (point.host.empty() || point.port == 0) refuse("a host and a port are needed");
  if (point.token.empty() || point.token.size() > kMostTokenBytes) {
    refuse("the token has ", point.token.size(), " characters; allowed: 1 to ", kMostTokenBytes);
  }
  if (ranks < 1 || ranks > kMostMeetingRanks) refuse(ranks, " ranks; allowed: 1 to ", kMostMeetingRanks);
  if (rank < 0 || rank >= ranks) refuse("rank ", rank, " is not within 0 to ", ranks - 1);
  if (card.size() > kMostCardBytes) {
    refuse("the card of rank ", rank, " has ", card.size(), " bytes; allowed: up to ", kMostCardBytes);
  }
}

Visitor::Visitor(const RendezvousAddress& point, Rank rank, int ranks, std::string_view card,
                 Duration patience)
    : point_(point), ranks_(ranks), end_(start_ + std::min(patience, kForever)) {
  check(point, rank, ranks, card);
  hello_ = {.rank = static_cast<std::uint32_t>(rank),
            .ranks = static_cast<std::uint32_t>(ranks),
            .token = point.token,
            .card = std::string(card)};
}

std::vector<std::string> Visitor::make() {
  for (Duration pause = kFirstPause;; pause = std::min(2 * pause, kLongestPause)) {
    for (const tcp::endpoint& address : addresses()) {
      if (auto cards = attempt(address)) return std::move(*cards);
    }
    const Duration left = end_ - steady_clock::now();
    if (left <= Duration(0)) {
      throw Timeout(concat(name(), ": no answer for ", format_duration(waited()), ": ", trouble_));
    }
    std::this_thread::sleep_for(std::min(pause, left));  // there is nothing to wait on but time
  }
}

// Looked up anew for every round of attempts: a host may get its name while others already wait for it.
std::vector<tcp::endpoint> Visitor::addresses() {
  asio::io_context io;
  asio::error_code code;
  const auto found = tcp::resolver(io).resolve(point_.host, std::to_string(point_.port), code);
  keep(code);
  return {found.begin(), found.end()};
}

// None if it is worth trying again: until the server has welcomed us, a connection may break because the
// server is restarted, or because strangers crowd it.
std::optional<std::vector<std::string>> Visitor::attempt(const tcp::endpoint& address) {
  Line line;
  const Moment now = steady_clock::now();
  if (!keep(line.connect(address, std::min(end_, now + kOneAttempt)))) return std::nullopt;
  const auto left = std::chrono::duration_cast<milliseconds>(end_ - now).count();
  hello_.patience_ms = static_cast<std::uint32_t>(std::clamp<long long>(left, 1, UINT32_MAX));
  if (!keep(line.write(hello_message(hello_), end_))) return std::nullopt;
  const auto first = receive(line, end_);
  if (!first) return std::nullopt;
  if (first->head.word != Word::kWelcome) return conclude(*first);
  const auto last = receive(line, end_ + kGrace);
  if (last) return conclude(*last);
  if (steady_clock::now() >= end_) throw Timeout(concat(name(), ": the server answers no more: ", trouble_));
  throw Error(
      concat(name(), ": the server has gone while rank ", hello_.rank, " waited for the others: ", trouble_));
}

// True if it went well, else remembers what did not.
bool Visitor::keep(asio::error_code code) {
  if (code) trouble_ = code.message();
  return !code;
}

std::optional<Answer> Visitor::receive(Line& line, Moment end) {
  std::array<char, kHeadBytes> bytes{};
  if (!keep(line.read(bytes.data(), bytes.size(), end))) return std::nullopt;
  const auto head = read_head({bytes.data(), bytes.size()});
  if (!head) throw Error(concat(name(), ": what answers there is not a server of Starling's rendezvous"));
  if (head->version != kRendezvousVersion && head->word != Word::kRefusal) {
    throw Error(concat(name(), ": the server speaks version ", head->version,
                       " of the protocol, this process ", kRendezvousVersion));
  }
  if (head->length > most_bytes(head->word, ranks_)) {
    throw Error(concat(name(), ": the answer has ", head->length, " bytes; at most ",
                       most_bytes(head->word, ranks_), " are expected"));
  }
  Answer answer{*head, std::string(head->length, '\0')};
  if (!keep(line.read(answer.body.data(), answer.body.size(), end))) return std::nullopt;
  return answer;
}

std::vector<std::string> Visitor::conclude(const Answer& answer) const {
  if (answer.head.word == Word::kCards) {
    if (auto cards = read_cards(answer.body, ranks_)) return std::move(*cards);
  }
  if (answer.head.word == Word::kMissing) {
    if (const auto missing = read_missing(answer.body, ranks_)) tell_missing(*missing);
  }
  if (answer.head.word == Word::kRefusal) refuse(answer);
  throw Error(concat(name(), ": the answer is damaged"));
}

void Visitor::refuse(const Answer& answer) const {
  const auto refusal = read_refusal(answer.body);
  const std::string text = concat(name(), " refuses rank ", hello_.rank, ": ",
                                  refusal ? refusal->reason : std::string("for a reason that is damaged"));
  if (refusal && refusal->callers_mistake) throw InvalidArgument(text);
  throw Error(text);
}

void Visitor::tell_missing(const std::vector<Rank>& missing) const {
  const std::vector<Rank> named(missing.begin(), missing.begin() + std::min(missing.size(), kMostNamed));
  const std::size_t more = missing.size() - named.size();
  throw Timeout(concat(name(), ": after ", format_duration(waited()), " rank ", hello_.rank,
                       " still waited for ", missing.size(), " of ", ranks_, " ranks: ", join_texts(named),
                       more > 0 ? concat(" and ", more, " more") : ""));
}

}  // namespace

std::vector<std::string> meet(const RendezvousAddress& point, Rank rank, int ranks, std::string_view card,
                              Duration patience) {
  return Visitor(point, rank, ranks, card, patience).make();
}

}  // namespace starling::join
