#include "starling/session/session.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/join/run_context.h"
#include "starling/session/engine_thread.h"

namespace starling::session {

using strategy::floats;

SessionOptions in_run(const join::RunContext& context, SessionOptions options) {
  options.equal_models = context.equal_models();
  return in_run(context.environment(), std::move(options));
}

SessionOptions in_run(const join::RunEnvironment& environment, SessionOptions options) {
  options.workers = environment.workers;
  options.stall_limit = environment.stall_limit;
  options.end_on_loss = environment.end_on_loss;
  options.majority_patience = environment.majority_patience;
  if (!options.host_of_rank.empty()) return options;
  options.host_of_rank =
      environment.link ? strategy::ranks_up_to(environment.ranks) : environment.host_of_rank;
  return options;
}

Session::Session(runtime::LoopScheduler& loop, transport::Transport& net, const strategy::Strategy& strategy,
                 SessionOptions options, std::span<const float> initial_model, Callbacks callbacks)
    : learning_rate_(options.optimizer.learning_rate),
      engine_(std::make_unique<EngineThread>(loop, net, strategy, std::move(options), initial_model,
                                             std::move(callbacks))) {}

Session::Session(join::RunContext& context, SessionOptions options, std::span<const float> initial_model,
                 Callbacks callbacks)
    : Session(context.loop(), context.net(), context.strategy(), in_run(context, std::move(options)),
              initial_model, std::move(callbacks)) {}

Session::~Session() {
  const bool done = over_ && std::uncaught_exceptions() <= exceptions_;
  done ? engine_->release() : engine_->abandon();
}

std::span<float> Session::parameters() { return floats(engine_->worker().parameters()); }
std::span<float> Session::gradients() { return floats(engine_->worker().program_gradients()); }

bool Session::next() {
  asked_.reset();
  while (!over_) {
    const UserRequest request = engine_->requests().take();
    asked_ = asked_.value_or(request.asked);
    if (request.kind == UserRequest::Kind::kBatch) {
      batch_.begin();
      step_ = request.step;
      again_ = request.again;
      portion_ = request.portion;
      together_ = request.together;
      return true;
    }
    fulfil(request);
  }
  if (engine_->error()) std::rethrow_exception(engine_->error());
  return false;
}

Duration Session::free_for() const {
  return asked_ ? std::chrono::steady_clock::now() - *asked_ : Duration(0);
}

void Session::fulfil(const UserRequest& request) {
  RealWorker& worker = engine_->worker();
  if (request.kind == UserRequest::Kind::kCall) {
    request.call();
    asked_.reset();  // a call is no part of a step
    engine_->loop().post([&worker] { worker.called(); });
  } else if (request.kind == UserRequest::Kind::kUpdate) {
    apply(request);
    engine_->loop().post([&worker] { worker.updated(); });
  } else {
    over_ = true;
  }
}

void Session::use(Slice sections) {
  const std::size_t all = engine_->options().sections.size();
  if (sections.begin > sections.end || sections.end > all) {
    throw InvalidArgument(
        concat("sections [", sections.begin, ", ", sections.end, ") of a model that has ", all));
  }
  batch_.use(sections, all);
  wait_for(sections);
}

void Session::flush() { wait_for({0, engine_->options().sections.size()}); }

bool Session::usable(std::size_t section) const { return engine_->worker().is_current(section); }

void Session::wait_for(Slice sections) {
  if (over_) return;
  RealWorker& worker = engine_->worker();
  while (sections.begin < sections.end && worker.is_current(sections.begin)) ++sections.begin;
  if (sections.empty()) return;
  engine_->loop().post([&worker, sections] { worker.want(sections); });
  for (UserRequest request = engine_->requests().take(); request.kind != UserRequest::Kind::kThrough;
       request = engine_->requests().take()) {
    fulfil(request);
    if (!over_) continue;
    if (engine_->error()) std::rethrow_exception(engine_->error());
    return;
  }
}

Share Session::next_share(std::uint64_t epoch, std::uint64_t batches) {
  return engine_->shares().next(engine_->loop(), {epoch, batches});
}

std::vector<float> Session::mean() {
  if (over_) throw Error("mean() after the end of the run; finish() has left what final_model says");
  flush();
  std::vector<float> own(parameters().begin(), parameters().end());
  append_extras(own, engine_->callbacks().extras);
  return engine_->mean(std::move(own));
}

void Session::expect(std::size_t samples) {
  batch_.expect(samples);
  if (samples == 0) clear_gradients();
  engine_->loop().post([&worker = engine_->worker(), samples] { worker.expect(samples); });
}

// Only the sections that are the user's: the engine clears the others when it completes them unused.
void Session::clear_gradients() {
  const std::vector<strategy::Section>& sections = engine_->options().sections;
  for (std::size_t i = 0; i < sections.size(); ++i) {
    const std::span<float> gradient = gradients().subspan(sections[i].offset, sections[i].count);
    if (usable(i)) std::fill(gradient.begin(), gradient.end(), 0.0F);
  }
}

void Session::section_ready(std::size_t section) {
  RealWorker& worker = engine_->worker();
  if (!worker.wants_sections()) return;
  const std::vector<strategy::Section>& sections = engine_->options().sections;
  batch_.ready(section, sections);
  if (!worker.is_current(section)) {
    throw Error(concat("section ", section, " (", sections[section].name,
                       ") was asked for before it was used in the last step, and in this one not"));
  }
  if (!batch_.rate()) {
    batch_.tell_rate(learning_rate());
    engine_->loop().post([&worker, rate = *batch_.rate()] { worker.expect_rate(rate); });
  }
  engine_->loop().post([&worker, section] { worker.section_ready(section); });
}

void Session::computed(Batch batch) {
  batch.learning_rate = learning_rate();
  batch_.check(batch, engine_->options().equal_batches);
  if (batch.samples == 0 && !batch_.expected()) clear_gradients();
  engine_->loop().post(
      [&worker = engine_->worker(), batch, used = batch_.used()] { worker.batch_computed(batch, used); });
}

void Session::finish() {
  if (!over_) engine_->loop().post([&worker = engine_->worker()] { worker.no_more_batches(); });
  while (next()) {
  }
}

void Session::stop() { engine_->stop(); }

Duration Session::elapsed() const { return engine_->elapsed(); }

record::Journal& Session::journal() { return engine_->worker().journal(); }

std::vector<record::RankRecord> Session::collect() {
  if (!over_) throw Error(concat("rank ", engine_->rank(), ": the run is not over, there is no record yet"));
  return engine_->collect();
}

void Session::release() { engine_->release(); }

double Session::learning_rate() const {
  const Callbacks& callbacks = engine_->callbacks();
  return callbacks.learning_rate ? callbacks.learning_rate() : learning_rate_;
}

void Session::apply(const UserRequest& request) {
  if (engine_->callbacks().update) return engine_->callbacks().update(request.part, request.step);
  optim::Optimizer& optimizer = engine_->worker().flat_optimizer();
  if (request.step != updated_step_) {
    optimizer.set_learning_rate(request.learning_rate);
    optimizer.advance();
    optimizer.clip(gradients());
  }
  updated_step_ = request.step;
  optimizer.apply(request.part, parameters(), gradients());
}

}  // namespace starling::session
