// A worker that is slower than it could be, to try what unequal machines do: its gradient is computed for
// real, and it sleeps up to the time that the step, or a section of it, is meant to take. Sleeping costs no
// core, as the work of an accelerator costs none, so many paced workers fit on few cores.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "starling/cluster/cluster.h"
#include "starling/torch/emulated_step.h"

namespace starling::torch {

class SpeedEmulator {
 public:
  // `step` is what a step takes on a worker of speed 1; without it, what it took to compute the gradient.
  SpeedEmulator(const cluster::Cluster& cluster, Rank worker, std::optional<Duration> step, Random random,
                const std::vector<strategy::Section>& sections = {});

  // The receiver of gradients when the emulated accelerator has computed them.
  void on_gradient(std::function<void(std::size_t section)> pass) { pass_ = std::move(pass); }

  // Before the gradient of a batch is computed, which belongs to a step that counts from 1; a strategy may
  // have several batches in one, which follow each other at once: that this thread woke up late between them
  // does not count. Times count from the beginning of the run. Kills this process if its time has come.
  void begin(Time now, std::uint64_t step);
  // The batch is only this part of one, or more than one: its time is in proportion. Before the forward pass.
  void compute_part(double of_batch);
  // The program waited so long for others: that is no time of its step.
  void waited(Duration time);
  // In the forward pass, when these sections may be used: sleeps until they are done, if the step has a time.
  void forward(std::span<const std::size_t> sections, Time now);
  // Called in the backward pass, when the gradient of the section is ready. Passes on those that are due.
  // Does not sleep: the next sections may take this machine longer than the emulated one, which would be late
  // then.
  void backward(std::size_t section, Time now);
  // When the gradient is computed: passes on the rest, each in its time, and sleeps for the rest of the step.
  void end(Time now);

  // If the pace was too short for the machine: a line that says so. Empty otherwise.
  std::string complaint() const;

 private:
  struct Gradient {
    std::size_t section;
    Time due;
  };

  EmulatedStep clock_;
  std::function<void(std::size_t)> pass_ = [](std::size_t) {};
  std::deque<Gradient> gradients_;  // ready and not passed on, by time
  cluster::JitterFactors jitter_;
  std::optional<Time> dies_;
  std::optional<Duration> step_;
  Rank worker_;
  std::uint64_t number_ = 0;  // of the step
  Time begun_{};
  Time finished_{};  // the batch before
  Duration waited_{};
  double part_ = 1;    // of a batch
  double factor_ = 1;  // of this batch, by chance
  std::uint64_t steps_ = 0;
  std::uint64_t late_ = 0;
  Duration late_work_{};  // of the steps that were late
};

}  // namespace starling::torch
