// Jobs done section by section: the program asks for a section before it uses it and reports its gradient.
#pragma once

#include <algorithm>
#include <functional>

#include "tests/session/jobs.h"
#include "tests/support/check.h"

namespace starling::testing {

// Whether the program reports a section in a step, counted from 1.
using Says = std::function<bool(Rank rank, std::uint64_t step, std::size_t section)>;

inline bool always(Rank, std::uint64_t, std::size_t) { return true; }
inline bool never(Rank, std::uint64_t, std::size_t) { return false; }

struct Manners {
  Says asks = always;   // before it uses the section
  Says tells = always;  // when the gradient is ready
  // Whether it flushes the whole model before the forward pass.
  std::function<bool(std::uint64_t step)> flushes = [](std::uint64_t) { return false; };
  std::function<void(session::Session&, std::uint64_t step)> begins = [](session::Session&, std::uint64_t) {};
};

// A rank that has its own copy of what it has seen of the model, so that a section that is used too early
// shows in the gradient.
class SectionWork {
 public:
  SectionWork(const Job& job, transport::Transport& net, session::Session::Options setting, Manners manners,
              session::Callbacks callbacks = {}, std::vector<float> model = {})
      : manners_(std::move(manners)),
        rank_(net.rank()),
        workload_(*job.simulation.workload),
        sections_(workload_.sections()),
        seen_(job.elements()),
        gradient_(job.elements()),
        own(job, net, std::move(setting), std::move(callbacks), std::move(model)) {}

  // One batch, which next() has asked for.
  void compute() {
    ++step_;
    session::Session& session = own.session;
    manners_.begins(session, step_);
    if (manners_.flushes(step_)) session.flush();
    for (std::size_t i = 0; i < sections_.size(); ++i) {
      if (manners_.asks(rank_, step_, i)) session.use({i, i + 1});
      copy(i, session.parameters(), seen_);
    }
    const double loss = workload_.gradient(rank_, seen_, gradient_, workload_.batch(), own.random);
    for (std::size_t i = sections_.size(); i-- > 0;) {
      copy(i, gradient_, session.gradients());
      if (manners_.tells(rank_, step_, i)) session.section_ready(i);
    }
    session.computed({.samples = workload_.batch(), .loss = loss});
  }
  void run() {
    while (own.session.next()) compute();
  }

 private:
  void copy(std::size_t section, std::span<const float> from, std::span<float> to) const {
    const strategy::Section& place = sections_[section];
    std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(place.offset), place.count,
                to.begin() + static_cast<std::ptrdiff_t>(place.offset));
  }

  Manners manners_;
  Rank rank_;
  const sim::Workload& workload_;
  const std::vector<strategy::Section>& sections_;
  std::uint64_t step_ = 0;
  std::vector<float> seen_;
  std::vector<float> gradient_;

 public:
  JobSession own;
};

// A small network, trained with momentum.
inline sim::Simulation small_network(const std::string& strategy, const strategy::OptionTexts& options,
                                     int workers) {
  sim::Simulation simulation = simulation_of(strategy, options, workers);
  simulation.workload = sim::make_workload("mlp", {.workers = workers}, "workload");
  simulation.optimizer.momentum = 0.9;
  simulation.steps = 12;
  return simulation;
}

inline void expect_good(const std::vector<launch::Outcome>& outcomes) {
  for (const launch::Outcome& outcome : outcomes) {
    EXPECT_TRUE(outcome.good()) << outcome.error << " " << outcome.signal;
  }
}

// The models at the end, one after the other.
inline std::vector<float> models_after(const sim::Simulation& simulation, const Manners& manners,
                                       session::Session::Options setting,
                                       const session::Callbacks& callbacks) {
  const Job job(simulation);
  Board board(static_cast<std::size_t>(job.workers) * job.elements());
  expect_good(run_ranks(job, setting, [&](transport::Transport& net) {
    SectionWork work(job, net, setting, manners, callbacks);
    work.run();
    const std::span<const float> x = work.own.session.parameters();
    std::copy(x.begin(), x.end(), board.part(static_cast<std::size_t>(net.rank()), x.size()).begin());
  }));
  const auto all = board.part(0, static_cast<std::size_t>(job.workers) * job.elements());
  return {all.begin(), all.end()};
}

inline std::vector<float> models_after(const sim::Simulation& simulation, const Manners& manners = {}) {
  return models_after(simulation, manners, Job(simulation).setting(), {});
}

}  // namespace starling::testing
