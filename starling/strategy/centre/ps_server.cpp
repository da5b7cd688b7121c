#include "starling/strategy/centre/ps_server.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "starling/core/combine.h"
#include "starling/core/error.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

PsServer::PsServer(Member& self, ParameterServer::Rules rules)
    : self_(self),
      rules_(std::move(rules)),
      model_(self.initial_model()),
      optimizer_(self.make_optimizer(model_.data.count)) {
  for (Rank rank = 0; rank < self.workers(); ++rank) {
    Client& client = clients_.emplace_back();
    client.rank = rank;
    prepare(client);
  }
  if (rules_.pull) change_ = self.allocate(model_.data.count);
  if (rules_.balance.by_speed) parts_.emplace(self.workers(), rules_.balance.most).keep_with(self);
  keep_state();
  bring_up_lost_clients();
  for (Client& client : clients_) {
    if (self.starts(client.rank)) enter(client);
  }
}

void PsServer::prepare(Client& client) {
  client.gradient = self_.allocate(model_.data.count);
  const compression::Layout layout = layout_of(self_.sections());
  const std::uint64_t seed = seed_of_codes(client.rank);
  if (rules_.push) client.pushed.emplace(self_, *rules_.push.rule, layout, seed);
  if (!rules_.pull) return;
  client.pulled.emplace(self_, *rules_.pull.rule, layout, seed);
  client.has = self_.initial_model();
}

// For a checkpoint while all workers are between two steps: no gradient is in flight then.
void PsServer::keep_state() {
  if (model_.data.ghost()) return;
  self_.keep("server model", model_.data.span());
  std::size_t index = 0;
  for (const std::span<float> vector : optimizer_->state()) {
    self_.keep(concat("server optimizer ", index++), std::as_writable_bytes(vector));
  }
  self_.keep("server updates", bytes_of(updates_));
  optimizer_->set_steps(updates_);
  self_.keep("server version", bytes_of(version_));
  for (Client& client : clients_) {
    self_.keep(concat("server client ", client.rank), bytes_of(client.progress));
    self_.keep(concat("server codes ", client.rank), bytes_of(client.codes));
    if (rules_.pull) self_.keep(concat("server has ", client.rank), client.has.data.span());
  }
}

// In a checkpoint all workers have made the same steps, except those that were lost before. They go on with
// the part of the lowest of the others.
void PsServer::bring_up_lost_clients() {
  const auto behind = [](const Client& a, const Client& b) { return a.progress.clock < b.progress.clock; };
  const Client& foremost = *std::max_element(clients_.begin(), clients_.end(), behind);
  for (Client& client : clients_) {
    if (client.progress.clock >= foremost.progress.clock) continue;
    client.progress = foremost.progress;
    client.codes = foremost.codes;
    if (rules_.pull) copy(foremost.has.data, client.has.data);
  }
}

Task<> PsServer::run() {
  runtime::Scope scope(co_await runtime::this_context());
  for (Client& client : clients_) {
    scope.spawn(attend(client), concat("server for worker ", client.rank));
    scope.spawn(watch_for_leave(client), concat("leave of worker ", client.rank));
  }
  co_await scope.join();
}

Task<> PsServer::attend(Client& client) {
  try {
    if (!client.active) {
      co_await self_.net().recv(client.rank, own_tag(Channel::kEnter, client.rank), {},
                                transport::Idle::kYes);
      if (!clocks_.empty()) client.progress.clock = clocks_.begin()->first;
      enter(client);
      co_await send_model(client, true);
    }
    co_await serve_steps(client);
  } catch (const PeerLost&) {
    leave(client);
  }
}

Task<> PsServer::serve_steps(Client& client) {
  for (;;) {
    auto terms = self_.net().recv(client.rank, own_tag(Channel::kTerms, client.rank), bytes_of(client.terms));
    std::optional<transport::Receiving> reported;
    if (parts_) {
      reported.emplace(self_.net(), client.rank, own_tag(Channel::kPace, client.rank),
                       bytes_of(client.report));
    }
    co_await receive_gradient(client);
    co_await terms;
    if (reported) co_await *reported;
    tick(client);
    if (rules_.mode == Mode::kBsp) {
      co_await join_version(client);
    } else {
      apply(client);
      if (rules_.mode == Mode::kSsp) co_await wait_for_slowest(client);
    }
    co_await send_model(client);
  }
}

Task<> PsServer::receive_gradient(Client& client) {
  const Tag tag = own_tag(Channel::kPush, client.rank);
  ++client.codes.pushed;
  const Data into = client.pushed ? client.pushed->code() : client.gradient.data;
  co_await self_.net().recv(client.rank, tag, into.span());
  if (!client.pushed) co_return;
  const Stopwatch watch(self_, record::Activity::kServe, client.rank);
  client.pushed->decode(client.codes.pushed, client.gradient.data);
}

Task<> PsServer::watch_for_leave(Client& client) {
  try {
    co_await self_.net().recv(client.rank, own_tag(Channel::kLeave, client.rank), {}, transport::Idle::kYes);
  } catch (const PeerLost&) {
  }
  leave(client);
}

void PsServer::enter(Client& client) {
  client.active = true;
  ++active_;
  ++clocks_[client.progress.clock];
}

void PsServer::tick(Client& client) {
  if (client.active) ++clocks_[client.progress.clock + 1];
  ++client.progress.clock;
  if (client.active) remove_clock(client.progress.clock - 1);
}

void PsServer::leave(Client& client) {
  if (!client.active) return;
  client.active = false;
  --active_;
  remove_clock(client.progress.clock);
  if (rules_.mode == Mode::kBsp) make_version_if_complete();
}

// Workers that wait for the slowest check again when its clock has changed.
void PsServer::remove_clock(std::uint64_t clock) {
  const auto found = clocks_.find(clock);
  if (--found->second > 0) return;
  const bool was_slowest = found == clocks_.begin();
  clocks_.erase(found);
  if (was_slowest) progress_.pulse();
}

// The worker has what the codes so far have brought.
Task<> PsServer::send_change(Client& client) {
  encode_change(client);
  co_await self_.net().send(client.rank, own_tag(Channel::kPull, client.rank), client.pulled->code().span());
}

void PsServer::encode_change(Client& client) {
  const Stopwatch watch(self_, record::Activity::kServe, client.rank);
  const std::span<float> change = floats(change_.data);
  if (!model_.data.ghost()) {
    const std::span<const float> model = floats(model_.data), has = floats(client.has.data);
    for (std::size_t i = 0; i < change.size(); ++i) change[i] = model[i] - has[i];
  }
  ++client.codes.pulled;
  client.pulled->encode(change_.data, client.codes.pulled);
  client.pulled->add_to(client.has.data, client.codes.pulled);
}

Task<> PsServer::send_model(Client& client, bool complete) {
  if (client.pulled) co_await client.pulled->pass_time();
  if (!snapshot_ || snapshot_version_ != version_) {
    snapshot_ = std::make_shared<Buffer>(self_.allocate(model_.data.count));
    snapshot_version_ = version_;
    copy(model_.data, snapshot_->data);
  }
  const std::shared_ptr<Buffer> sent = snapshot_;
  client.progress.version = version_;
  std::optional<transport::Sending> told;
  Portion part;
  if (parts_) {
    part = parts_->of(client.rank);
    told.emplace(self_.net(), client.rank, own_tag(Channel::kPart, client.rank), bytes_of(part));
  }
  if (client.pulled && !complete) {
    co_await send_change(client);
  } else {
    if (client.pulled) copy(sent->data, client.has.data);
    co_await self_.net().send(client.rank, own_tag(Channel::kPull, client.rank), sent->data.span());
  }
  if (told) co_await *told;
}

void PsServer::update(double learning_rate, Data gradient) {
  optimizer_->set_learning_rate(learning_rate);
  if (!model_.data.ghost()) optimizer_->step(floats(model_.data), floats(gradient));
  updates_ = optimizer_->steps();
  ++version_;
}

// A worker without samples has nothing to apply and only asks for the model.
void PsServer::apply(Client& client) {
  if (client.terms.weight == 0) return;
  const Stopwatch watch(self_, record::Activity::kServe, client.rank);
  const std::uint64_t staleness = version_ - client.progress.version;
  self_.journal().staleness.note(staleness);
  const double divisor = rules_.scale_by_staleness ? 1 + static_cast<double>(staleness) : 1;
  update(client.terms.learning_rate / divisor, client.gradient.data);
}

// A gradient of an earlier version comes too late and is dropped.
Task<> PsServer::join_version(Client& client) {
  if (client.progress.version < version_) co_return;
  const Time arrived = self_.now();
  arrived_.push_back(&client);
  make_version_if_complete();
  while (client.progress.version == version_) co_await progress_;
  note_hold(self_, client.rank, last_arrived_, arrived);
}

// Weights of 1 change no bit. If no worker has samples, all gradients are 0, and so is their mean.
void PsServer::average_arrived(Data mean) const {
  std::vector<const std::byte*> gradients;
  std::vector<double> weights;
  for (const Client* client : arrived_) {
    gradients.push_back(client->gradient.data.bytes);
    weights.push_back(client->terms.weight);
  }
  const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
  combine(mean.type, {.weights = weights, .divisor = all > 0 ? all : 1}, mean.bytes, gradients, mean.count);
}

// The mean is taken in the order of ranks, whatever the order of arrival. All have the same learning rate.
void PsServer::make_version_if_complete() {
  const std::size_t wanted = std::min(active_, clients_.size() - static_cast<std::size_t>(rules_.backup));
  if (arrived_.empty() || arrived_.size() < wanted) return;
  last_arrived_ = arrived_.back()->rank;
  std::sort(arrived_.begin(), arrived_.end(),
            [](const Client* a, const Client* b) { return a->rank < b->rank; });
  const Data mean = arrived_.front()->gradient.data;
  if (!mean.ghost()) average_arrived(mean);
  update(arrived_.front()->terms.learning_rate, mean);
  for (std::size_t i = 0; i < arrived_.size(); ++i) self_.journal().staleness.note(0);
  if (parts_) divide_batch();
  arrived_.clear();
  progress_.pulse();
}

// A worker that has just joined has no part, and so no speed: it begins with the mean of the others'.
void PsServer::divide_batch() {
  double samples = 0, sum = 0, known = 0;
  for (const Client* client : arrived_) {
    samples += client->report.samples;
    if (client->report.seconds < 0) continue;
    sum += client->report.seconds;
    ++known;
  }
  if (known == 0) return;
  std::vector<double> seconds(clients_.size());
  for (const Client& client : clients_) {
    const double its = client.report.seconds < 0 ? sum / known : client.report.seconds;
    if (client.active) seconds[static_cast<std::size_t>(client.rank)] = its;
  }
  parts_->divide(seconds, samples);
}

Task<> PsServer::wait_for_slowest(Client& client) {
  for (;;) {
    if (clocks_.empty() || client.progress.clock < clocks_.begin()->first + rules_.staleness) co_return;
    const Rank behind = slowest();
    const Time begin = self_.now();
    co_await progress_;
    note_hold(self_, client.rank, behind, begin);
  }
}

Rank PsServer::slowest() const {
  const auto found = std::find_if(clients_.begin(), clients_.end(), [&](const Client& client) {
    return client.active && client.progress.clock == clocks_.begin()->first;
  });
  return found == clients_.end() ? record::kNobody : found->rank;
}

}  // namespace starling::strategy
