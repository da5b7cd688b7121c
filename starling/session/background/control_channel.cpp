#include "starling/session/background/control_channel.h"

#include "starling/core/error.h"

namespace starling::session {

using runtime::Task;

namespace {

Tag tag_of(ControlChannel::Kind kind) { return (Tag{0xff} << 56) | (Tag{1} << 8) | static_cast<Tag>(kind); }

}  // namespace

void ControlChannel::send(Rank to, Kind kind, Bytes bytes) {
  runtime::Task<> task = deliver(to, kind, std::move(bytes));
  if (scope_ == nullptr) return early_.push_back(std::move(task));
  scope_->spawn(std::move(task), concat("letter to rank ", to));
}

Task<> ControlChannel::run() {
  struct Leave {
    ControlChannel& self;
    ~Leave() { self.scope_ = nullptr; }
  } const leave{*this};
  runtime::Scope scope(co_await runtime::this_context());
  scope_ = &scope;
  for (const auto& [kind, handler] : handlers_) scope.spawn(listen(kind), "letters");
  scope.spawn(watch_losses(), "losses");
  for (Task<>& task : early_) scope.spawn(std::move(task), "early letter");
  early_.clear();
  co_await scope.join();
}

// Without a deadline, because messages are rare; ends when no rank is left to send one.
Task<> ControlChannel::listen(Kind kind) {
  const Handler& handler = handlers_.at(kind);
  try {
    for (;;) {
      transport::Letter letter = co_await net_.recv_any(tag_of(kind), transport::Idle::kYes);
      handler(letter.from, std::move(letter.bytes));
    }
  } catch (const PeerLost&) {
  }
}

// Losses that happen while the handlers run are not missed: they do not wait.
Task<> ControlChannel::watch_losses() {
  runtime::Event& losses = net_.losses();
  for (;;) {
    for (const auto& handler : loss_handlers_) handler();
    co_await losses;
  }
}

Task<> ControlChannel::deliver(Rank to, Kind kind, Bytes bytes) {
  if (to == net_.rank()) {
    handlers_.at(kind)(to, std::move(bytes));
    co_return;
  }
  ++traffic_.messages;
  traffic_.bytes += bytes.size();
  try {
    co_await net_.send(to, tag_of(kind), bytes);
  } catch (const PeerLost&) {
  }
}

}  // namespace starling::session
