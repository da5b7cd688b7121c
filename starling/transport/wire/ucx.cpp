// Compiled where UCX is found; elsewhere ucx_absent.cpp takes its place.
//
// A UCX tag is (bulk or frame, sender, number of the transfer). Frames carry a number too: UCX matches them
// in order, but a longer one may be complete after a shorter one behind it.
#include "starling/transport/wire/ucx.h"

#include <ucp/api/ucp.h>

#include <chrono>
#include <limits>
#include <list>
#include <map>
#include <utility>
#include <vector>

#include "starling/core/error.h"
#include "starling/transport/wire/ucx_context.h"
#include "starling/transport/wire/ucx_pieces.h"

namespace starling::transport::wire {

namespace {

constexpr ucp_tag_t kBulk = ucp_tag_t{1} << 63;
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
  Transfer::State settle(Transfer& transfer, Rank peer, Duration patience) override;
  void give_up(Rank peer) override;
  bool poll(Client& client) override;
  int descriptor() const override { return descriptor_; }
  bool arm() override { return ucp_worker_arm(worker_) == UCS_OK; }
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
    ucp_ep_h endpoint = nullptr;
    Ucx* engine = nullptr;
    ucs_status_t failure = UCS_OK;
    std::list<Frame> out;
    std::size_t unsent = 0;
    std::uint64_t next_out = 0;
    std::uint64_t next_in = 0;
    std::map<std::uint64_t, std::vector<std::byte>> early;  // frames whose predecessors are not complete
  };

  void take_in();
  bool give_out(Client& client);
  void forget_sent();
  bool tell_failures(Client& client);

  Rank self_;
  Silence silence_;
  ucp_context_h context_ = nullptr;
  ucp_worker_h worker_ = nullptr;
  int descriptor_ = -1;
  std::map<Rank, Peer> peers_;
  std::list<Coming> coming_;
  bool any_failure_ = false;
};

Ucx::Ucx(Rank self) : self_(self), context_(make_context()) {
  ucp_worker_params_t worker{};
  worker.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  worker.thread_mode = UCS_THREAD_MODE_SERIALIZED;  // made by one thread, used by the loop's
  try {
    check(ucp_worker_create(context_, &worker, &worker_), "ucp_worker_create");
    check(ucp_worker_get_efd(worker_, &descriptor_), "ucp_worker_get_efd");
  } catch (...) {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
    throw;
  }
}

Ucx::~Ucx() {
  for (auto& [rank, peer] : peers_) give_up(rank);
  coming_.clear();
  peers_.clear();
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

std::string Ucx::card() const {
  ucp_address_t* address = nullptr;
  std::size_t length = 0;
  check(ucp_worker_get_address(worker_, &address, &length), "ucp_worker_get_address");
  std::string text(reinterpret_cast<const char*>(address), length);
  ucp_worker_release_address(worker_, address);
  return text;
}

void Ucx::connect(const std::vector<std::string>& cards, const std::vector<Rank>& peers) {
  for (const Rank rank : peers) {
    Peer& peer = peers_[rank];
    peer.engine = this;
    ucp_ep_params_t params{};
    params.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                        UCP_EP_PARAM_FIELD_ERR_HANDLER;
    params.address = reinterpret_cast<const ucp_address_t*>(cards.at(static_cast<std::size_t>(rank)).data());
    params.err_mode = UCP_ERR_HANDLING_MODE_PEER;
    params.err_handler.cb = [](void* self, ucp_ep_h, ucs_status_t status) {
      auto& failed = *static_cast<Peer*>(self);
      failed.failure = status;
      failed.engine->any_failure_ = true;
    };
    params.err_handler.arg = &peer;
    peer.failure = ucp_ep_create(worker_, &params, &peer.endpoint);  // it may have died meanwhile
    any_failure_ |= peer.failure != UCS_OK;
  }
}

void Ucx::post(Rank to, std::vector<std::byte> frame) {
  Peer& peer = peers_.at(to);
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t param{};
  const ucs_status_ptr_t returned =
      ucp_tag_send_nbx(peer.endpoint, frame.data(), frame.size(), tag_of(self_, peer.next_out++), &param);
  Request request(returned);
  if (!request.under_way()) return;
  peer.unsent += frame.size();
  peer.out.push_back({std::move(request), std::move(frame)});
}

std::unique_ptr<Transfer> Ucx::push(Rank to, std::uint64_t number, std::span<const std::byte> data) {
  const Peer& peer = peers_.at(to);
  const ucp_tag_t tag = kBulk | tag_of(self_, number);
  return std::make_unique<Pieces>(
      worker_, data.size(), kDepth, [&peer, tag, data](std::size_t at, std::size_t size) {
        ucp_request_param_t param{};
        if (peer.endpoint == nullptr) return UCS_STATUS_PTR(UCS_ERR_NOT_CONNECTED);
        return ucp_tag_send_nbx(peer.endpoint, data.data() + at, size, tag, &param);
      });
}

// All at once: what comes before its receive is posted would be copied.
std::unique_ptr<Transfer> Ucx::pull(Rank from, std::uint64_t number, std::span<std::byte> data) {
  const ucp_tag_t tag = kBulk | tag_of(from, number);
  const auto all = std::numeric_limits<std::size_t>::max();
  return std::make_unique<Pieces>(
      worker_, data.size(), all, [worker = worker_, tag, data](std::size_t at, std::size_t size) {
        ucp_request_param_t param{};
        return ucp_tag_recv_nbx(worker, data.data() + at, size, tag, ~ucp_tag_t{0}, &param);
      });
}

Transfer::State Ucx::settle(Transfer& transfer, Rank peer, Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  while (transfer.state() == Transfer::State::kUnderWay) {
    if (ucp_worker_progress(worker_) == 0 && std::chrono::steady_clock::now() > deadline) {
      give_up(peer);
      transfer.cancel();
    }
  }
  return transfer.state();
}

// Everything under way to the peer ends with an error. A receive that waits for it is cancelled by its owner.
void Ucx::give_up(Rank rank) {
  Peer& peer = peers_.at(rank);
  if (peer.endpoint == nullptr) return;
  ucp_request_param_t param{};
  param.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  param.flags = UCP_EP_CLOSE_FLAG_FORCE;
  const Request closing(ucp_ep_close_nbx(std::exchange(peer.endpoint, nullptr), &param));
  while (closing.under_way()) ucp_worker_progress(worker_);
  peer.failure = UCS_OK;  // closing by force is one too
  peer.out.clear();
  peer.unsent = 0;
}

void Ucx::take_in() {
  ucp_tag_recv_info_t info{};
  while (ucp_tag_message_h message = ucp_tag_probe_nb(worker_, 0, kBulk, 1, &info)) {
    Coming coming;
    coming.frame.bytes.resize(info.length);
    coming.from = static_cast<Rank>(info.sender_tag >> kNumberBits);
    coming.number = info.sender_tag & kNumberMask;
    ucp_request_param_t param{};
    coming.frame.request =
        ucp_tag_msg_recv_nbx(worker_, coming.frame.bytes.data(), info.length, message, &param);
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
  any_failure_ = false;
  bool any = false;
  for (auto& [rank, peer] : peers_) {
    const ucs_status_t failure = std::exchange(peer.failure, UCS_OK);
    if (failure == UCS_OK) continue;
    client.take_failure(rank, concat("its connection ended (UCX: ", ucs_status_string(failure), ")"));
    any = true;
  }
  return any;
}

bool Ucx::poll(Client& client) {
  bool any = false;
  while (ucp_worker_progress(worker_) != 0) any = true;
  take_in();
  any |= give_out(client);
  forget_sent();
  if (any_failure_) any |= tell_failures(client);
  return any;
}

void Ucx::flush(Duration patience) {
  const auto deadline = std::chrono::steady_clock::now() + patience;
  ucp_request_param_t param{};
  const Request flushing(ucp_worker_flush_nbx(worker_, &param));
  while (flushing.under_way() && std::chrono::steady_clock::now() < deadline) ucp_worker_progress(worker_);
}

}  // namespace

std::string why_no_ucx() { return ""; }

std::string ucx_version() { return ucp_get_version_string(); }

std::unique_ptr<Engine> make_ucx(Rank self) { return std::make_unique<Ucx>(self); }

}  // namespace starling::transport::wire
