#include "starling/session/session.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/runtime/run.h"
#include "starling/runtime/scope.h"
#include "starling/session/agreement.h"
#include "starling/session/farewell.h"
#include "starling/strategy/registry.h"

namespace starling::session {

using runtime::Task;
using strategy::Data;
using strategy::floats;
using strategy::Placement;
using strategy::ranks_up_to;

namespace {

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
  place.no_flat_optimizer = setting.no_flat_optimizer;
  for (const strategy::Section& section : setting.worker.sections) {
    place.elements = std::max(place.elements, section.offset + section.count);
  }
  place.initial_model.resize(place.elements);
  return place;
}

Random stream_of(std::uint64_t seed, Rank rank) {
  return Random(seed).fork(static_cast<std::uint64_t>(rank) + 1);
}

Session::Setting for_strategy(Session::Setting setting, const strategy::Strategy& strategy) {
  setting.lockstep = strategy.lockstep();
  return setting;
}

Task<> serve_rank(transport::Transport& net, const strategy::Strategy& strategy, strategy::Place& place,
                  const Session::Setting& setting) {
  co_await agree_on_model(net, place);
  const Bytes state = co_await receive_state(net);
  Kept kept(state);
  ServiceMember member(place, net, stream_of(setting.seed, net.rank()), kept);
  Letters letters(net);
  Harvest harvest(net, letters, place, setting.keep_record);
  harvest.include(member.journal());
  Checkpoint::answer(letters, kept);
  const Time origin = co_await common_origin(net);
  harvest.begin(origin);
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  scope.spawn(for_ever(strategy.serve(member)), "service");
  scope.spawn(letters.run(), "letters");
  scope.spawn(farewell(net), "farewell");
  co_await scope.join();
}

}  // namespace

Session::Setting in_run(const Standing& standing, Session::Setting setting) {
  setting.workers = standing.workers;
  if (!setting.host_of_rank.empty()) return setting;
  setting.host_of_rank = standing.link ? ranks_up_to(standing.ranks) : standing.host_of_rank;
  return setting;
}

Session::Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
                 Setting setting, std::span<const float> initial_model, Program program)
    : loop_(loop),
      net_(net),
      strategy_(strategy),
      setting_(for_strategy(std::move(setting), strategy)),
      place_(make_place(setting_, strategy.service(), net.size())),
      program_(std::move(program)),
      shares_({setting_.dynamic_shares, setting_.lockstep}, net.rank(), setting_.workers),
      kept_(setting_.resume ? std::span<const std::byte>(setting_.resume->kept)
                            : std::span<const std::byte>()) {
  if (initial_model.size() != place_.elements) {
    throw InvalidArgument(
        concat("the sections have ", place_.elements, " elements, the model has ", initial_model.size()));
  }
  check(shares_.rules(), setting_.worker.equal_batches);
  learning_rate_ = setting_.optimizer.learning_rate;
  setting_.worker.own_optimizer = program_.update != nullptr;
  setting_.worker.has_flat_optimizer = setting_.no_flat_optimizer.empty();
  setting_.worker.clip_norm = setting_.optimizer.clip_norm;
  std::copy(initial_model.begin(), initial_model.end(), place_.initial_model.begin());
  worker_ = std::make_unique<RealWorker>(place_, net, stream_of(setting_.seed, net.rank()), setting_.worker,
                                         errands_);
  if (setting_.save_every > 0 && !strategy.may_pause()) {
    throw InvalidArgument("checkpoints: the workers of this strategy cannot rest at the same step");
  }
  std::copy(initial_model.begin(), initial_model.end(), parameters().begin());
  worker_->set_kept(kept_);
  if (setting_.resume) worker_->go_on_from(setting_.resume->step);
  kept_.keep("random", std::as_writable_bytes(std::span(&worker_->random(), 1)));
  attendants_ =
      std::make_shared<Attendants>(place_, *worker_, setting_, setting_.worker.steps, program_, kept_);
  RealWorker::Duties duties = attendants_->duties();
  if (setting_.check_sync > 0) duties.push_back(&sync_check_.emplace(*worker_, setting_.check_sync));
  worker_->set_duties(std::move(duties));
  if (strategy_.service() != Placement::kNone && net_.rank() == place_.server) make_service();
  if (!program_.update) worker_->make_own_optimizer();
  engine_ = std::thread([this] { run_engine(); });
}

Session::Session(Membership& membership, Setting setting, std::span<const float> initial_model,
                 Program program)
    : Session(membership.loop(), membership.net(), membership.strategy(),
              in_run(membership.standing(), std::move(setting)), initial_model, std::move(program)) {}

void Session::make_service() {
  service_ = std::make_unique<ServiceMember>(place_, net_, stream_of(setting_.seed, setting_.workers), kept_);
  attendants_->include(*service_);
}

Session::~Session() {
  if (!over_) loop_.post([this] { abandoned_.set(); });
  engine_.join();
}

std::span<float> Session::parameters() { return floats(worker_->parameters()); }
std::span<float> Session::gradients() { return floats(worker_->gradients()); }

bool Session::next() {
  while (!over_) {
    const Errand errand = errands_.take();
    if (errand.kind == Errand::Kind::kBatch) {
      notes_.begin();
      step_ = errand.step;
      return true;
    }
    serve(errand);
  }
  if (error_) std::rethrow_exception(error_);
  return false;
}

void Session::serve(const Errand& errand) {
  if (errand.kind == Errand::Kind::kCall) {
    errand.call();
    loop_.post([this] { worker_->called(); });
  } else if (errand.kind == Errand::Kind::kUpdate) {
    apply(errand);
    loop_.post([this] { worker_->updated(); });
  } else {
    over_ = true;
  }
}

void Session::use(Slice sections) {
  const std::size_t all = setting_.worker.sections.size();
  if (sections.begin > sections.end || sections.end > all) {
    throw InvalidArgument(
        concat("sections [", sections.begin, ", ", sections.end, ") of a model that has ", all));
  }
  notes_.use(sections, all);
  wait_for(sections);
}

void Session::flush() { wait_for({0, setting_.worker.sections.size()}); }

void Session::wait_for(Slice sections) {
  if (over_) return;
  while (sections.begin < sections.end && worker_->through(sections.begin)) ++sections.begin;
  if (sections.empty()) return;
  loop_.post([this, sections] { worker_->want(sections); });
  for (Errand errand = errands_.take(); errand.kind != Errand::Kind::kThrough; errand = errands_.take()) {
    serve(errand);
    if (!over_) continue;
    if (error_) std::rethrow_exception(error_);
    return;
  }
}

Share Session::next_share(std::uint64_t epoch, std::uint64_t batches) {
  return shares_.next(loop_, {epoch, batches});
}

void Session::expect(std::size_t samples) {
  notes_.expect(samples);
  if (samples == 0) clear_gradients();
  loop_.post([this, samples] { worker_->expect(samples); });
}

// Those that are the user's: the others are cleared when they are let through without being used.
void Session::clear_gradients() {
  for (std::size_t i = 0; i < setting_.worker.sections.size(); ++i) {
    const strategy::Section& section = setting_.worker.sections[i];
    const std::span<float> gradient = gradients().subspan(section.offset, section.count);
    if (worker_->through(i)) std::fill(gradient.begin(), gradient.end(), 0.0F);
  }
}

void Session::section_ready(std::size_t section) {
  if (!worker_->wants_sections()) return;
  notes_.ready(section, setting_.worker.sections);
  if (!worker_->through(section)) {
    throw Error(concat("section ", section, " (", setting_.worker.sections[section].name,
                       ") was asked for before it was used in the last step, and in this one not"));
  }
  if (!notes_.rate()) {
    notes_.tell_rate(learning_rate());
    loop_.post([this, rate = *notes_.rate()] { worker_->expect_rate(rate); });
  }
  loop_.post([this, section] { worker_->section_ready(section); });
}

void Session::computed(Batch batch) {
  batch.learning_rate = learning_rate();
  notes_.check(batch, setting_.worker.equal_batches);
  if (batch.samples == 0 && !notes_.expected()) clear_gradients();
  loop_.post([this, batch, used = notes_.used()] { worker_->batch_computed(batch, used); });
}

void Session::finish() {
  if (!over_) loop_.post([this] { worker_->no_more_batches(); });
  while (next()) {
  }
}

void Session::stop() {
  loop_.post([weak = std::weak_ptr(attendants_)] {
    if (const auto attendants = weak.lock()) attendants->wish_end();
  });
}

std::vector<record::RankRecord> Session::collect() {
  if (!over_) throw Error(concat("rank ", net_.rank(), ": the run is not over, there is no record yet"));
  return collected_.valid() ? collected_.get() : std::vector<record::RankRecord>();
}

Duration Session::elapsed() const { return std::max(Duration(0), loop_.now() - origin_.load()); }

void Session::apply(const Errand& errand) {
  if (program_.update) return program_.update(errand.part, errand.step);
  optim::Optimizer& optimizer = worker_->flat_optimizer();
  if (errand.step != updated_step_) {
    optimizer.set_learning_rate(errand.learning_rate);
    optimizer.advance();
    optimizer.clip(gradients());
  }
  updated_step_ = errand.step;
  optimizer.apply(errand.part, parameters(), gradients());
}

void Session::run_engine() {
  try {
    runtime::run(loop_, live(), concat("rank ", net_.rank()));
  } catch (...) {
    end(std::current_exception());
  }
  hand_over_records();
}

void Session::hand_over_records() {
  if (records_given_) return;
  records_given_ = true;
  records_.set_value(attendants_->take_records());
}

// Tells the user's thread once.
void Session::end(std::exception_ptr error) {
  if (told_) return;
  told_ = true;
  error_ = std::move(error);
  shares_.close(error_);
  errands_.ask({.kind = Errand::Kind::kEnd});
}

// Whoever ends first ends the others: the work, the service by failing, the user by going away.
Task<> Session::live() {
  std::span<const std::byte> saved;
  if (setting_.resume) saved = setting_.resume->server;
  co_await agree_on_model(net_, place_);
  if (net_.rank() == 0 && net_.size() > setting_.workers)
    co_await hand_over_state(net_, setting_.workers, saved);
  co_await agree_on_rest(net_, place_.everyone, program_, setting_.own_models);
  if (!setting_.own_models) {
    strategy::copy(Data{std::span<float>(place_.initial_model)}, worker_->parameters());
  }
  const Time origin = co_await common_origin(net_);
  origin_ = origin;
  attendants_->begin(origin);
  const auto wait_for_user = [](Session& self) -> Task<> { co_await self.abandoned_; };
  runtime::Scope scope(co_await runtime::this_context());
  scope.race();
  worker_->set_company(scope);
  if (service_) scope.spawn(for_ever(strategy_.serve(*service_)), "service");
  scope.spawn(attendants_->run(), "beside");
  if (setting_.dynamic_shares) scope.spawn(shares_.run(net_), "shares");
  scope.spawn(work(), "strategy");
  scope.spawn(wait_for_user(*this), "user");
  co_await scope.join();
}

Task<> Session::work() {
  std::exception_ptr error;
  try {
    co_await strategy_.run(*worker_);
  } catch (...) {
    error = std::current_exception();
  }
  co_await attendants_->conclude(error);
  end(error);
  co_await attendants_->see_off(error);
  hand_over_records();
  if (error) std::rethrow_exception(error);
  co_await farewell(net_);
}

void serve(transport::Transport& net, const strategy::Strategy& strategy, const Session::Setting& setting) {
  strategy::Place place = make_place(setting, strategy.service(), net.size());
  runtime::run(net.scheduler(), serve_rank(net, strategy, place, setting), concat("rank ", net.rank()));
}

void serve(Membership& membership, Session::Setting setting) {
  serve(membership.net(), membership.strategy(), in_run(membership.standing(), std::move(setting)));
}

}  // namespace starling::session
