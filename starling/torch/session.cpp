#include "starling/torch/session.h"

#include <cmath>
#include <cstdlib>
#include <exception>

#include "starling/core/error.h"
#include "starling/core/log.h"
#include "starling/torch/forward_wait.h"
#include "starling/torch/optimizer_translation.h"

namespace starling::torch {

namespace {

session::Session::Options setting_for(const Replica& replica, const SessionOptions& options,
                                      const ::torch::optim::Optimizer& optimizer) {
  session::Session::Options setting;
  setting.worker.sections = replica.sections();
  setting.worker.equal_batches = options.equal_batches;
  setting.seed = options.seed;
  setting.dynamic_shares = options.dynamic_shards;
  try {
    setting.optimizer = to_flat_optimizer(optimizer);
  } catch (const InvalidArgument& error) {
    setting.no_flat_optimizer = error.what();
  }
  setting.optimizer.clip_norm = options.clip_norm;
  return setting;
}

const SessionOptions& checked(const SessionOptions& options) {
  if (std::isfinite(options.clip_norm) && options.clip_norm >= 0) return options;
  throw InvalidArgument(concat("clip_norm is ", options.clip_norm, "; allowed: a finite number, 0 or more"));
}

}  // namespace

Session::Session(const SessionOptions& options, ::torch::nn::Module& module,
                 ::torch::optim::Optimizer& optimizer)
    : options_(checked(options)),
      replica_(module),
      optimizer_(optimizer, replica_, options.clip_norm),
      exceptions_(std::uncaught_exceptions()) {
  auto setting = setting_for(replica_, options, optimizer);
  if (!context_.environment().trains()) {
    session::serve(context_, std::move(setting));
    std::exit(0);
  }
  session::Callbacks program;
  program.extras = replica_.extras();
  program.fixed = replica_.fixed();
  program.learning_rate = [&optimizer] { return learning_rate(optimizer); };
  program.update = [this](Slice part, std::uint64_t step) { optimizer_.update(part, step); };
  session_ = std::make_unique<session::Session>(context_, std::move(setting), replica_.values(), program);
  more_ = session_->next();
  replica_.bind(session_->parameters(), session_->gradients());
  replica_.set_usable([this](std::size_t section) { return session_->usable(section); });
  replica_.on_gradient([this](std::size_t section) { session_->section_ready(section); });
}

Session::~Session() {
  if (!more_ || std::uncaught_exceptions() > exceptions_) return;
  try {
    finish();
  } catch (const std::exception& error) {
    stderr_log()(LogLevel::kError, error.what());
  }
}

bool Session::step(const ::torch::Tensor& loss, std::optional<std::size_t> samples) {
  return step(loss.item<double>(), samples ? *samples : expected_.value_or(1));
}

bool Session::step(double loss, std::size_t samples) {
  if (!more_) throw Error("step() after the end of the run");
  replica_.collect_gradients();
  optimizer_.latch(session_->step());
  session_->computed({.samples = samples, .loss = loss});
  return advance();
}

bool Session::advance() {
  expected_.reset();
  more_ = session_->next();
  if (more_) replica_.zero_gradients();
  return more_;
}

// An evaluation does not bind the forward passes of the training to ask as it does.
void Session::use(const ::torch::nn::Module& module) {
  if (!more_) return;
  if (!::torch::GradMode::is_enabled()) return flush();
  wait_for_sections(*session_, replica_, replica_.sections_of(module));
}

void Session::flush() {
  if (more_) wait_for_model(*session_, replica_);
}

void Session::finish() {
  if (!more_) return;
  more_ = false;
  session_->finish();
}

void Session::expect(std::size_t samples) {
  expected_ = samples;
  session_->expect(samples);
}

void Session::idle_step() {
  optimizer_.latch(session_->step());
  session_->computed({.samples = 0});
  advance();
}

}  // namespace starling::torch
