#include "starling/transport/wire/remote.h"

#include <algorithm>
#include <utility>

#include "starling/core/error.h"

namespace starling::transport::wire {

namespace {

using namespace std::chrono_literals;

// A rank that sends nothing else sends a sign of life this often within the allowed silence.
constexpr int kLooks = 5;
// How long the loop may rest if the engine cannot wake it; doubled each time.
constexpr Duration kShortestNap = 20us;
constexpr Duration kLongestNap = 500us;
// Frames that the engine may keep for one rank; beyond this, further sends wait.
constexpr std::size_t kUnsentLimit = std::size_t{1} << 20;
constexpr Duration kFarewell = 1s;

}  // namespace

// A long message in its sender's memory, or one that we took for a receive that is gone.
class Remote::Offer final : public Arrival {
 public:
  Offer(Remote& remote, Rank from, Tag tag, std::size_t bytes, std::uint64_t number, bool taken)
      : Arrival(from, tag, bytes), remote_(remote), number_(number), taken_(taken) {
    remote_.offers_[key()] = this;
  }
  ~Offer() override { remote_.offers_.erase(key()); }

  Key key() const { return {from(), number_}; }
  bool taken() const { return taken_; }

  bool give(Inbound& receiving) override {
    receiving.unlink();
    if (taken_) {
      remote_.claim(*this, receiving);
    } else {
      remote_.take(*this, receiving);
    }
    return true;
  }
  bool read(std::span<std::byte>) override { return false; }

 private:
  Remote& remote_;
  std::uint64_t number_;
  bool taken_;
};

Remote::Remote(runtime::LoopScheduler& loop, Matcher& matcher, Options setting, Tell tell)
    : loop_(loop),
      matcher_(matcher),
      engine_(std::move(setting.engine)),
      tell_(std::move(tell)),
      silence_(setting.silence) {
  for (const Rank peer : setting.peers) peers_[peer];
  if (engine_->descriptor() >= 0) loop_.watch(engine_->descriptor(), [] {});
  loop_.at(loop_.now() + silence_ / kLooks, clock_);
}

// Transfers in progress end first: they use memory that goes with us, and a peer that knows us gone relies on
// its own memory not being read any more.
Remote::~Remote() {
  loop_.cancel(clock_);
  loop_.cancel(waking_);
  for (auto& [number, outgoing] : outgoing_) {
    if (outgoing.transfer) settle(*outgoing.transfer, outgoing.to, kFarewell);
  }
  for (auto& [key, incoming] : incoming_) {
    if (incoming.transfer && !incoming.transfer->cancel()) settle(*incoming.transfer, key.first, kFarewell);
  }
  while (!offers_.empty()) delete offers_.begin()->second;
  for (auto& [rank, peer] : peers_) {
    if (!peer.lost) post(rank, {.kind = Head::kBye});
  }
  engine_->flush(kFarewell);
  for (auto& [rank, peer] : peers_) engine_->give_up(rank);
  if (engine_->descriptor() >= 0) loop_.unwatch(engine_->descriptor());
}

void Remote::post(Rank to, const Head& head, std::span<const std::byte> data) {
  Peer& peer = peers_.at(to);
  if (peer.lost || peer.ended) return;
  peer.spoken = true;
  engine_->post(to, make_frame(head, data));
}

void Remote::start_send(Sending& sending) {
  Peer& peer = peers_.at(sending.peer());
  if (!peer.ended && peer.backlog.empty() && engine_->unsent(sending.peer()) < kUnsentLimit)
    return transmit(sending);
  peer.backlog.push_back(sending);
  ++waiting_;
}

void Remote::transmit(Sending& sending) {
  const Rank to = sending.peer();
  if (sending.bytes() <= kInlineLimit) {
    post(to, {.kind = Head::kInline, .tag = sending.tag(), .bytes = sending.bytes()}, sending.data());
    return sending.complete();
  }
  sending.ticket = next_number_++;
  outgoing_[sending.ticket] = {.sending = &sending, .copy = {}, .to = to, .transfer = nullptr};
  post(to, {.kind = Head::kOffer, .tag = sending.tag(), .bytes = sending.bytes(), .number = sending.ticket});
}

void Remote::flush_backlogs() {
  for (auto& [rank, peer] : peers_) {
    while (!peer.ended && !peer.backlog.empty() && engine_->unsent(rank) < kUnsentLimit) {
      --waiting_;
      transmit(static_cast<Sending&>(peer.backlog.pop_front()));
    }
  }
}

void Remote::withdraw_send(Sending& sending) noexcept {
  if (sending.linked()) {
    --waiting_;
    return sending.unlink();
  }
  const auto found = outgoing_.find(sending.ticket);
  if (found == outgoing_.end() || found->second.sending != &sending) return;
  Outgoing& outgoing = found->second;
  if (outgoing.transfer) {
    settle(*outgoing.transfer, outgoing.to, silence_);
    outgoing_.erase(found);
    return;
  }
  outgoing.copy.assign(sending.data().begin(), sending.data().end());
  outgoing.sending = nullptr;
  post(outgoing.to, {.kind = Head::kWithdraw, .number = found->first});
}

void Remote::push(Rank to, std::uint64_t number) {
  const auto found = outgoing_.find(number);
  if (found == outgoing_.end() || found->second.to != to || found->second.transfer) return;
  Outgoing& outgoing = found->second;
  const std::span<const std::byte> data =
      outgoing.sending != nullptr ? outgoing.sending->data() : std::span<const std::byte>(outgoing.copy);
  outgoing.transfer = engine_->push(to, number, data);
}

// The receiver does not want the message, or had not taken it when it was given up.
void Remote::finish(Rank to, std::uint64_t number) {
  const auto found = outgoing_.find(number);
  if (found == outgoing_.end() || found->second.to != to || found->second.transfer) return;
  Sending* const sending = found->second.sending;
  outgoing_.erase(found);
  if (sending != nullptr) sending->complete();
}

void Remote::drop_offer(Rank from, std::uint64_t number) {
  const auto found = offers_.find({from, number});
  if (found == offers_.end() || found->second->taken()) return;  // our kTake is on its way
  delete found->second;
  post(from, {.kind = Head::kDropped, .number = number});
}

void Remote::take(const Offer& offer, Inbound& receiving) {
  const auto [from, number] = offer.key();
  try {
    Incoming incoming{.receiving = &receiving,
                      .tag = offer.tag(),
                      .target = receiving.room(from, offer.bytes(), false),
                      .own = {},
                      .transfer = nullptr};
    incoming.transfer = engine_->pull(from, number, incoming.target);
    incoming_.emplace(offer.key(), std::move(incoming));
    post(from, {.kind = Head::kTake, .number = number});
  } catch (const Error&) {
    post(from, {.kind = Head::kDiscard, .number = number});
    receiving.fail(std::current_exception());
  }
}

void Remote::claim(const Offer& offer, Inbound& receiving) {
  const auto found = incoming_.find(offer.key());
  found->second.receiving = &receiving;
  if (!found->second.transfer) complete(found);
}

void Remote::complete(std::map<Key, Incoming>::iterator at) {
  Incoming incoming = std::move(at->second);
  const Rank from = at->first.first;
  incoming_.erase(at);
  if (incoming.own.empty()) {
    incoming.receiving->complete();
  } else {
    hand_over(from, incoming.own, *incoming.receiving);
  }
}

void Remote::withdraw_recv(Inbound& receiving) noexcept {
  const auto found = std::find_if(incoming_.begin(), incoming_.end(),
                                  [&](const auto& item) { return item.second.receiving == &receiving; });
  if (found != incoming_.end()) divert(found);
}

// The message is not lost with its receive: the next one gets it.
void Remote::divert(std::map<Key, Incoming>::iterator at) {
  const auto [from, number] = at->first;
  Incoming& incoming = at->second;
  incoming.receiving = nullptr;
  std::vector<std::byte> own(incoming.own.empty() ? incoming.target.size() : 0);
  if (incoming.own.empty() && incoming.transfer->move_to(own)) {
    incoming.own = std::move(own);
  } else if (incoming.own.empty() && incoming.transfer->cancel()) {
    incoming.own = std::move(own);
    incoming.transfer = engine_->pull(from, number, incoming.own);
  } else if (incoming.own.empty()) {
    const auto ended = settle(*incoming.transfer, from, silence_);
    if (ended == Transfer::State::kFailed) {
      incoming_.erase(at);
      return;
    }
    incoming.own.assign(incoming.target.begin(), incoming.target.end());
    incoming.transfer.reset();
  }
  auto offer = std::make_unique<Offer>(*this, from, incoming.tag, incoming.own.size(), number, true);
  matcher_.deliver(std::move(offer), Matcher::Turn::kFirst);
}

bool Remote::look_at_outgoing() {
  bool any = false;
  for (auto at = outgoing_.begin(); at != outgoing_.end();) {
    const auto& transfer = at->second.transfer;
    if (!transfer || transfer->state() != Transfer::State::kDone) {  // a failure is reported as such
      ++at;
      continue;
    }
    any = true;
    Sending* const sending = at->second.sending;
    at = outgoing_.erase(at);
    if (sending != nullptr) sending->complete();
  }
  return any;
}

bool Remote::look_at_incoming() {
  bool any = false;
  for (auto at = incoming_.begin(); at != incoming_.end();) {
    const auto next = std::next(at);
    Incoming& incoming = at->second;
    if (incoming.transfer && incoming.transfer->state() == Transfer::State::kDone) {
      any = true;
      incoming.transfer.reset();
      if (incoming.receiving != nullptr) complete(at);
    }
    at = next;
  }
  for (auto& [rank, peer] : peers_) {
    if (any && peer.leaving && !peer.lost && !peer.ended) part_from(rank);
  }
  return any;
}

void Remote::take_frame(Rank from, std::span<const std::byte> frame) {
  const auto peer = peers_.find(from);
  if (peer == peers_.end() || peer->second.lost) return;
  if (std::exchange(peer->second.silent, 0) >= kLooks) tell_(from, News::kHeardAgain, {});
  Head head;
  std::span<const std::byte> data;
  try {
    head = read_frame(frame, data);
  } catch (const Error& error) {
    return end(from, News::kBroken, concat("it sent something else: ", error.what()));
  }
  act_on(from, head, data);
}

void Remote::act_on(Rank from, const Head& head, std::span<const std::byte> data) {
  switch (head.kind) {
    case Head::kInline:
      if (Inbound* receiving = matcher_.find(from, head.tag)) return hand_over(from, data, *receiving);
      return matcher_.deliver(std::make_unique<KeptArrival>(from, head.tag, data));
    case Head::kOffer:
      return matcher_.deliver(std::make_unique<Offer>(*this, from, head.tag, head.bytes, head.number, false));
    case Head::kTake:
      return push(from, head.number);
    case Head::kDiscard:
    case Head::kDropped:
      return finish(from, head.number);
    case Head::kWithdraw:
      return drop_offer(from, head.number);
    case Head::kAlive:
      return;
    case Head::kBye:
      return part_from(from);
  }
}

// Bulk data may arrive after a good-bye that was sent after it. A rank that leaves has let its transfers end.
void Remote::part_from(Rank rank) {
  Peer& peer = peers_.at(rank);
  peer.leaving = std::any_of(incoming_.begin(), incoming_.end(), [&](const auto& item) {
    return item.first.first == rank && item.second.transfer;
  });
  if (!peer.leaving) end(rank, News::kLeft, "it left the run");
}

void Remote::end(Rank rank, News news, const std::string& why) {
  Peer& peer = peers_.at(rank);
  if (peer.lost || std::exchange(peer.ended, true)) return;
  tell_(rank, news, why);
}

// Messages that had arrived before are received before.
void Remote::take_failure(Rank peer, const std::string& why) {
  look_at_incoming();
  end(peer, News::kBroken, why);
}

void Remote::drop(Rank rank, const std::exception_ptr& loss) {
  Peer& peer = peers_.at(rank);
  peer.lost = true;
  engine_->give_up(rank);
  while (!peer.backlog.empty()) {
    --waiting_;
    peer.backlog.pop_front().fail(loss);
  }
  for (auto at = outgoing_.begin(); at != outgoing_.end();) {
    const auto next = std::next(at);
    if (at->second.to == rank) {
      Sending* const sending = at->second.sending;
      outgoing_.erase(at);
      if (sending != nullptr) sending->fail(loss);
    }
    at = next;
  }
  // Messages that have arrived can still be received.
  for (auto at = incoming_.begin(); at != incoming_.end();) {
    const auto next = std::next(at);
    if (at->first.first == rank && at->second.transfer) {
      Inbound* const receiving = at->second.receiving;
      at->second.transfer->cancel();
      incoming_.erase(at);
      if (receiving != nullptr) receiving->fail(loss);
    }
    at = next;
  }
  for (auto at = offers_.begin(); at != offers_.end();) {
    Offer* const offer = (at++)->second;
    if (offer->from() == rank && incoming_.count(offer->key()) == 0) delete offer;
  }
}

bool Remote::poll() {
  bool any = engine_->poll(*this);
  any |= look_at_outgoing();
  any |= look_at_incoming();
  if (waiting_ > 0) flush_backlogs();
  if (any) {
    nap_ = kShortestNap;
  } else if (parked_ && engine_->descriptor() >= 0) {
    return !engine_->arm();
  } else if (parked_) {
    loop_.at(loop_.now() + nap_, waking_);
    nap_ = std::min(2 * nap_, kLongestNap);
  }
  return any;
}

// The loop stands still meanwhile. To the others this rank must not.
Transfer::State Remote::settle(Transfer& transfer, Rank peer, Duration patience) {
  Time next_sign = loop_.now();
  return engine_->settle(transfer, peer, patience, [&] {
    if (loop_.now() < next_sign) return;
    next_sign = loop_.now() + silence_ / kLooks;
    for (const auto& [rank, other] : peers_) {
      if (rank != peer) post(rank, {.kind = Head::kAlive});
    }
  });
}

void Remote::look_at_clock() {
  std::vector<Rank> silent;
  for (auto& [rank, peer] : peers_) {
    if (peer.lost || peer.ended) continue;
    if (!peer.spoken) post(rank, {.kind = Head::kAlive});
    peer.spoken = false;
    if (++peer.silent == kLooks) silent.push_back(rank);
  }
  for (const Rank rank : silent)
    tell_(rank, News::kSilent, concat("nothing was heard of it for ", format_duration(silence_)));
  loop_.at(loop_.now() + silence_ / kLooks, clock_);
}

}  // namespace starling::transport::wire
