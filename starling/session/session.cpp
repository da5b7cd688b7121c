#include "starling/session/session.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/session/farewell.h"

namespace starling::session {

using runtime::Task;
using strategy::Data;
using strategy::floats;
using strategy::Placement;
using strategy::ranks_up_to;

namespace {

constexpr Tag kInitialModel = (Tag{0xff} << 56) | 1;

strategy::Place make_place(const Session::Setting& setting, Placement service, int ranks) {
  strategy::Place place;
  place.workers = setting.workers;
  place.everyone = ranks_up_to(setting.workers);
  const bool own_rank = service != Placement::kNone && ranks == setting.workers + 1;
  if (!own_rank && ranks != setting.workers) {
    throw InvalidArgument(
        concat("a run of ", setting.workers, " workers",
               service != Placement::kNone ? ", with or without a rank for the service," : "", " has ", ranks,
               " ranks"));
  }
  place.server = own_rank ? setting.workers : 0;
  place.host_of_rank = setting.host_of_rank;
  place.host_of_rank.resize(static_cast<std::size_t>(ranks));
  place.starts.assign(static_cast<std::size_t>(setting.workers), true);
  place.optimizer = setting.optimizer;
  for (const strategy::Section& section : setting.worker.sections) {
    place.elements = std::max(place.elements, section.offset + section.count);
  }
  place.initial_model.resize(place.elements);
  return place;
}

// Everybody's initial model becomes that of rank 0.
Task<> agree_on_model(transport::Transport& net, strategy::Place& place) {
  const Data model{std::span<float>(place.initial_model)};
  const Group everybody = ranks_up_to(net.size());
  co_await collective::broadcast(net, everybody, 0, model, kInitialModel);
}

// A service has no end of its own; one that returns must not end the run.
Task<> serve_for_ever(const strategy::Strategy& strategy, strategy::Member& member) {
  runtime::Event never("the end of the service");
  co_await strategy.serve(member);
  co_await never;
}

Random stream_of(std::uint64_t seed, Rank rank) {
  return Random(seed).fork(static_cast<std::uint64_t>(rank) + 1);
}

Session::Setting in_run(const Membership& membership, Session::Setting setting) {
  setting.workers = membership.standing().workers;
  return setting;
}

Task<> serve_rank(transport::Transport& net, const strategy::Strategy& strategy, strategy::Place& place,
                  std::uint64_t seed) {
  co_await agree_on_model(net, place);
  strategy::Placed<strategy::Member> member(place, net, stream_of(seed, net.rank()));
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(serve_for_ever(strategy, member), "service");
  scope.spawn(farewell(net), "farewell");
  co_await scope.join();
}

}  // namespace

Session::Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
                 Setting setting, std::span<const float> initial_model, Update update)
    : loop_(loop),
      net_(net),
      strategy_(strategy),
      setting_(std::move(setting)),
      place_(make_place(setting_, strategy.service(), net.size())),
      update_(std::move(update)) {
  if (initial_model.size() != place_.elements) {
    throw InvalidArgument(
        concat("the sections have ", place_.elements, " elements, the model has ", initial_model.size()));
  }
  std::copy(initial_model.begin(), initial_model.end(), place_.initial_model.begin());
  worker_ = std::make_unique<RealWorker>(place_, net, stream_of(setting_.seed, net.rank()), setting_.worker,
                                         errands_);
  if (!update_) optimizer_ = optim::make_optimizer(setting_.optimizer, place_.elements);
  engine_ = std::thread([this] { run_engine(); });
}

Session::Session(Membership& membership, Setting setting, std::span<const float> initial_model, Update update)
    : Session(membership.loop(), membership.net(), membership.strategy(),
              in_run(membership, std::move(setting)), initial_model, std::move(update)) {}

Session::~Session() {
  if (!over_) loop_.post([this] { abandoned_.set(); });
  engine_.join();
}

std::span<float> Session::parameters() { return floats(worker_->parameters()); }
std::span<float> Session::gradients() { return floats(worker_->gradients()); }

bool Session::next() {
  while (!over_) {
    const Errand errand = errands_.take();
    if (errand.kind == Errand::Kind::kBatch) return true;
    if (errand.kind == Errand::Kind::kUpdate) {
      apply(errand);
      loop_.post([this] { worker_->updated(); });
    } else {
      over_ = true;
    }
  }
  if (error_) std::rethrow_exception(error_);
  return false;
}

void Session::computed(Batch batch) {
  loop_.post([this, batch] { worker_->batch_computed(batch); });
}

void Session::finish() {
  if (!over_) loop_.post([this] { worker_->no_more_batches(); });
  while (next()) {
  }
}

void Session::apply(const Errand& errand) {
  if (update_) return update_(errand.part);
  if (errand.step != updated_step_) optimizer_->advance();
  updated_step_ = errand.step;
  optimizer_->apply(errand.part, parameters(), gradients());
}

void Session::run_engine() {
  try {
    runtime::run(loop_, live(), concat("rank ", net_.rank()));
  } catch (...) {
    end(std::current_exception());
  }
}

// Tells the user's thread once.
void Session::end(std::exception_ptr error) {
  if (told_) return;
  told_ = true;
  error_ = std::move(error);
  errands_.ask({Errand::Kind::kEnd, {}, 0});
}

// Whoever ends first ends the others: the work, the service by failing, the user by going away.
Task<> Session::live() {
  co_await agree_on_model(net_, place_);
  strategy::copy(Data{std::span<float>(place_.initial_model)}, worker_->parameters());
  strategy::Placed<strategy::Member> service(place_, net_, stream_of(setting_.seed, setting_.workers));
  const auto wait_for_user = [](Session& self) -> Task<> { co_await self.abandoned_; };
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  if (strategy_.service() != Placement::kNone && net_.rank() == place_.server) {
    scope.spawn(serve_for_ever(strategy_, service), "service");
  }
  scope.spawn(work(), "strategy");
  scope.spawn(wait_for_user(*this), "user");
  co_await scope.join();
}

Task<> Session::work() {
  co_await strategy_.run(*worker_);
  end(nullptr);
  co_await farewell(net_);
}

void serve(transport::Transport& net, const strategy::Strategy& strategy, const Session::Setting& setting) {
  strategy::Place place = make_place(setting, strategy.service(), net.size());
  runtime::run(net.scheduler(), serve_rank(net, strategy, place, setting.seed), concat("rank ", net.rank()));
}

void serve(Membership& membership, Session::Setting setting) {
  serve(membership.net(), membership.strategy(), in_run(membership, std::move(setting)));
}

}  // namespace starling::session
