#include "starling/strategy/averaging/pair_exchange.h"

#include <algorithm>

#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

using record::Activity;

PairExchange::PairExchange(Worker& self)
    : self_(self),
      y_(self.allocate(self.parameters().count)),
      own_(self.allocate(self.parameters().count)),
      other_(self.allocate(self.parameters().count)) {
  updated_.set();
  if (y_.data.ghost()) return;
  copy(self.parameters(), y_.data);
  // Between two steps the worker saves x, and y may be ahead of it.
  self.keep("pair exchange", y_.data.span());
}

PairExchange::Turn::~Turn() {
  std::erase(exchange_.turns_, this);
  exchange_.next_turn_.pulse();
}

// Noted as a wait for the rank whose turn it is.
Task<> PairExchange::wait_for(const Turn& turn) {
  while (!turn.come()) {
    Stopwatch watch(self_, Activity::kWait, turns_.front()->partner);
    watch.in_background_until(computed_);
    co_await next_turn_;
  }
}

// The same for the side that answers: it keeps the partner waiting.
Task<> PairExchange::hold(const Turn& turn) {
  while (!turn.come()) {
    const Rank because = turns_.front()->partner;
    const Time since = self_.now();
    co_await next_turn_;
    note_hold(self_, turn.partner, because, since);
  }
}

Task<bool> PairExchange::with(Rank partner) {
  const std::uint64_t round = ++rounds_;
  const bool own_turn_first = self_.rank() < partner;
  std::optional<Turn> turn;
  try {
    if (own_turn_first) {
      turn.emplace(*this, partner);
      co_await wait_for(*turn);
    }
    const bool granted = co_await ask(partner, round);
    if (!granted) co_return false;
    if (!own_turn_first) {
      turn.emplace(*this, partner);
      co_await wait_for(*turn);
    }
    co_await swap_as_first(partner, round);
    co_await average();
    co_return true;
  } catch (const PeerLost&) {
    co_return false;
  }
}

Task<bool> PairExchange::ask(Rank partner, std::uint64_t round) {
  Stopwatch watch(self_, Activity::kWait, partner);
  watch.in_background_until(computed_);
  std::uint8_t granted = 0;
  auto asked = self_.net().send(partner, tag_of(Channel::kAsk), bytes_of(round));
  co_await self_.net().recv(partner, tag_of(Channel::kGrant, round), bytes_of(granted));
  co_await asked;
  co_return granted != 0;
}

Task<> PairExchange::swap_as_first(Rank partner, std::uint64_t round) {
  Stopwatch watch(self_, Activity::kWait, partner);
  watch.in_background_until(computed_);
  copy(y_.data, own_.data);
  auto sent = self_.net().send(partner, tag_of(Channel::kForth, round), own_.data.span());
  co_await self_.net().recv(partner, tag_of(Channel::kBack, round), other_.data.span());
  co_await sent;
}

Task<> PairExchange::answer(std::shared_ptr<PairExchange> exchange) {
  PairExchange& self = *exchange;
  runtime::Scope scope(co_await runtime::this_context());
  try {
    for (;;) {
      const transport::Letter letter =
          co_await self.self_.net().recv_any(tag_of(Channel::kAsk), transport::Idle::kYes);
      const auto round = ByteReader(letter.bytes, "the round of a pair").get<std::uint64_t>();
      scope.spawn(self.reply(letter.from, round), concat("answer to worker ", letter.from));
    }
  } catch (const PeerLost&) {
  }
}

Task<> PairExchange::reply(Rank to, std::uint64_t round) {
  const Turn turn(*this, to);
  try {
    co_await hold(turn);
    std::uint8_t granted = finished_ ? 0 : 1;
    co_await self_.net().send(to, tag_of(Channel::kGrant, round), bytes_of(granted));
    if (granted != 0) co_await swap_as_second(to, round);
  } catch (const PeerLost&) {
  }
}

// Meanwhile the partner waits for bytes only: whatever else this worker does, it does not delay the partner.
Task<> PairExchange::swap_as_second(Rank partner, std::uint64_t round) {
  const Time since = self_.now();
  co_await self_.net().recv(partner, tag_of(Channel::kForth, round), other_.data.span());
  copy(y_.data, own_.data);
  co_await average();
  co_await self_.net().send(partner, tag_of(Channel::kBack, round), own_.data.span());
  note_hold(self_, partner, partner, since);
}

Task<> PairExchange::average() {
  while (!updated_.is_set()) co_await updated_;
  if (y_.data.ghost()) co_return;
  const std::span<float> y = floats(y_.data);
  const std::span<const float> own = floats(own_.data), other = floats(other_.data);
  for (std::size_t i = 0; i < y.size(); ++i) y[i] += 0.5F * (other[i] - own[i]);
}

Task<> PairExchange::step() {
  updated_.reset();
  copy(y_.data, self_.parameters());
  if (self_.samples() > 0) co_await self_.update();
  copy(self_.parameters(), y_.data);
  updated_.set();
}

Task<> PairExchange::finish() {
  const Turn turn(*this, record::kNobody);
  co_await wait_for(turn);
  finished_ = true;
  copy(y_.data, self_.parameters());
}

}  // namespace starling::strategy
