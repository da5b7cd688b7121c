// Compiled where UCX is found; elsewhere ucx_absent.cpp takes its place.
//
// Frames and bulk data have lanes of their own. On one connection a frame would wait behind the data that is
// in its socket, megabytes at the end of which the answer stands that lets the other direction begin.
//
// A UCX tag is the sender and the number of the frame or of the transfer. Frames are numbered because UCX
// matches them in order, but a longer one may be complete after a shorter one behind it.
#include "starling/transport/wire/ucx.h"

#include <sys/epoll.h>
#include <ucp/api/ucp.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <limits>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "starling/core/descriptor.h"
#include "starling/core/error.h"
#include "starling/transport/wire/ucx_context.h"
#include "starling/transport/wire/ucx_landing.h"
#include "starling/transport/wire/ucx_lane.h"
#include "starling/transport/wire/ucx_pieces.h"

namespace starling::transport::wire {

namespace {

constexpr int kNumberBits = 48;
constexpr ucp_tag_t kNumberMask = (ucp_tag_t{1} << kNumberBits) - 1;

ucp_tag_t tag_of(Rank sender, std::uint64_t number) {
  return static_cast<ucp_tag_t>(sender) << kNumberBits | (number & kNumberMask);
}

class Ucx final : public Engine {
 public:
  explicit Ucx(Rank self);
  ~Ucx() override;
  Ucx(const Ucx&) = delete;
  Ucx& operator=(const Ucx&) = delete;

  std::string_view name() const override { return "ucx"; }
  std::string card() const override;
  void connect(const std::vector<std::string>& cards, const std::vector<Rank>& peers) override;
  void post(Rank to, std::vector<std::byte> frame) override;
  std::size_t unsent(Rank to) const override { return peers_.at(to).unsent; }
  std::unique_ptr<Transfer> push(Rank to, std::uint64_t number, std::span<const std::byte> data) override;
  std::unique_ptr<Transfer> pull(Rank from, std::uint64_t number, std::span<std::byte> data) override;
  Transfer::State settle(Transfer& transfer, Rank peer, Duration patience,
                         const std::function<void()>& meanwhile) override;
  void give_up(Rank peer) override;
  bool poll(Client& client) override;
  int descriptor() const override { return descriptor_.get(); }
  bool arm() override { return frames_.armed() && bulk_.armed(); }
  void flush(Duration patience) override;

 private:
  struct Frame {
    Request request;
    std::vector<std::byte> bytes;
  };
  struct Coming {
    Frame frame;
    Rank from = 0;
    std::uint64_t number = 0;
  };
  struct Peer {
    std::list<Frame> out;
    std::size_t unsent = 0;
    std::uint64_t next_out = 0;
    std::uint64_t next_in = 0;
    std::map<std::uint64_t, std::vector<std::byte>> early;  // frames whose predecessors are not complete
  };

  bool progress();
  void take_in();
  bool give_out(Client& client);
  void forget_sent();
  bool tell_failures(Client& client);

  Rank self_;
  Silence silence_;
  bool rdma_ = has_rdma();
  Context context_;
  Trays trays_;
  Lane frames_;
  Lane bulk_;
  Descriptor descriptor_;
  std::map<Rank, Peer> peers_;
  std::list<Coming> coming_;
};

// A descriptor that is readable when either of these is.
Descriptor joined_descriptor(int first, int second) {
  Descriptor joined(epoll_create1(EPOLL_CLOEXEC));
  epoll_event event{};
  event.events = EPOLLIN;
  if (joined.valid() && epoll_ctl(joined.get(), EPOLL_CTL_ADD, first, &event) == 0 &&
      epoll_ctl(joined.get(), EPOLL_CTL_ADD, second, &event) == 0)
    return joined;
  throw Error(concat("UCX: watching its descriptors: ", std::strerror(errno)));
}

Ucx::Ucx(Rank self)
    : self_(self),
      frames_(context_.get()),
      bulk_(context_.get()),
      descriptor_(joined_descriptor(frames_.descriptor(), bulk_.descriptor())) {}

Ucx::~Ucx() {
  for (auto& [rank, peer] : peers_) give_up(rank);
}

// The length of the first address, and both.
std::string Ucx::card() const {
  const std::string frames = frames_.address();
  return concat(frames.size(), " ", frames, bulk_.address());
}

void Ucx::connect(const std::vector<std::string>& cards, const std::vector<Rank>& peers) {
  for (const Rank rank : peers) {
    const std::string& card = cards.at(static_cast<std::size_t>(rank));
    const std::size_t space = card.find(' ');
    if (space == std::string::npos) throw Error(concat("UCX: the address of rank ", rank, " is damaged"));
    const auto length = static_cast<std::size_t>(parse_integer(
        card.substr(0, space), "UCX: an address", 0, static_cast<long long>(card.size() - space - 1)));
    peers_[rank];
    frames_.connect(rank, card.substr(space + 1, length));
    bulk_.connect(rank, card.substr(space + 1 + length));
  }
}

void Ucx::post(Rank to, std::vector<std::byte> frame) {
  if (!frames_.reaches(to)) return;
  Peer& peer = peers_.at(to);
  Request request(frames_.send(to, frame.data(), frame.size(), tag_of(self_, peer.next_out++)));
  if (!request.under_way()) return;
  peer.unsent += frame.size();
  peer.out.push_back({std::move(request), std::move(frame)});
}

std::unique_ptr<Transfer> Ucx::push(Rank to, std::uint64_t number, std::span<const std::byte> data) {
  return std::make_unique<Pieces>(
      bulk_.worker(), data.size(), kDepth,
      [this, to, tag = tag_of(self_, number), data](std::size_t at, std::size_t size) {
        return bulk_.send(to, data.data() + at, size, tag);
      });
}

// RDMA cards put it where it belongs, and stop when the connection is torn down.
std::unique_ptr<Transfer> Ucx::pull(Rank from, std::uint64_t number, std::span<std::byte> data) {
  const ucp_tag_t tag = tag_of(from, number);
  if (!rdma_) return std::make_unique<Landing>(bulk_.worker(), trays_, tag, data);
  const auto all = std::numeric_limits<std::size_t>::max();
  return std::make_unique<Pieces>(bulk_.worker(), data.size(), all,
                                  [worker = bulk_.worker(), tag, data](std::size_t at, std::size_t size) {
                                    ucp_request_param_t param{};
                                    return ucp_tag_recv_nbx(worker, data.data() + at, size, tag,
                                                            ~ucp_tag_t{0}, &param);
                                  });
}

bool Ucx::progress() {
  const bool frames = frames_.progress();
  return bulk_.progress() || frames;
}

Transfer::State Ucx::settle(Transfer& transfer, Rank peer, Duration patience,
                            const std::function<void()>& meanwhile) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (transfer.state() == Transfer::State::kUnderWay) {
    meanwhile();
    if (!progress() && std::chrono::steady_clock::now() > deadline) {
      give_up(peer);
      transfer.cancel();
      return Transfer::State::kFailed;  // a receive that has begun never ends
    }
  }
  return transfer.state();
}

void Ucx::give_up(Rank rank) {
  frames_.close(rank);
  bulk_.close(rank);
  Peer& peer = peers_.at(rank);
  peer.out.clear();
  peer.unsent = 0;
}

void Ucx::take_in() {
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h message = ucp_tag_probe_nb(frames_.worker(), 0, 0, 1, &info)) {
    Coming coming;
    coming.frame.bytes.resize(info.length);
    coming.from = static_cast<Rank>(info.sender_tag >> kNumberBits);
    coming.number = info.sender_tag & kNumberMask;
    ucp_request_param_t param{};
    coming.frame.request =
        ucp_tag_msg_recv_nbx(frames_.worker(), coming.frame.bytes.data(), info.length, message, &param);
    coming_.push_back(std::move(coming));
  }
}

bool Ucx::give_out(Client& client) {
  bool any = false;
  for (auto at = coming_.begin(); at != coming_.end();) {
    if (at->frame.request.under_way()) {
      ++at;
      continue;
    }
    Coming coming = std::move(*at);
    at = coming_.erase(at);
    const auto found = peers_.find(coming.from);
    if (found == peers_.end() || coming.frame.request.status() != UCS_OK) continue;
    Peer& peer = found->second;
    peer.early[coming.number] = std::move(coming.frame.bytes);
    while (!peer.early.empty() && peer.early.begin()->first == peer.next_in) {
      const auto frame = peer.early.extract(peer.early.begin());
      ++peer.next_in;
      client.take_frame(coming.from, frame.mapped());
      any = true;
    }
  }
  return any;
}

void Ucx::forget_sent() {
  for (auto& [rank, peer] : peers_) {
    while (!peer.out.empty() && !peer.out.front().request.under_way()) {
      peer.unsent -= peer.out.front().bytes.size();
      peer.out.pop_front();
    }
  }
}

bool Ucx::tell_failures(Client& client) {
  bool any = false;
  for (Lane* const lane : {&frames_, &bulk_}) {
    lane->tell_failures([&](Rank rank, ucs_status_t failure) {
      client.take_failure(rank, concat("its connection ended (UCX: ", ucs_status_string(failure), ")"));
      any = true;
    });
  }
  return any;
}

bool Ucx::poll(Client& client) {
  bool any = false;
  while (progress()) any = true;
  take_in();
  any |= give_out(client);
  forget_sent();
  return tell_failures(client) || any;
}

void Ucx::flush(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  const Request frames = frames_.flush(), bulk = bulk_.flush();
  while ((frames.under_way() || bulk.under_way()) && std::chrono::steady_clock::now() < deadline) progress();
}

}  // namespace

std::string why_no_ucx() { return ""; }

std::string ucx_version() { return ucp_get_version_string(); }

std::unique_ptr<Engine> make_ucx(Rank self) { return std::make_unique<Ucx>(self); }

}  // namespace starling::transport::wire
