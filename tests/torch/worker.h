// A small training program for tests that look at several workers: it trains a model with a shared and a
// frozen parameter, and leaves what it saw of the model.
#pragma once

#include <string>
#include <vector>

namespace starling::torch {

inline constexpr int kWorkerSteps = 9;

// How it trains, in words; `folder` is where each rank leaves a file of its name.
struct WorkerTask {
  std::string optimizer = "sgd";   // with momentum, decay and Nesterov; or adamw; or groups, which is SGD of
                                   // two parameter groups
  std::string forward = "plain";   // asks for nothing; or ready; gated; half, for every other module; skips,
                                   // as ready, but does not use one module in some steps; forgets, asks in
                                   // some steps only
  std::string rate = "constant";   // or falling, every step
  std::string clip = "unclipped";  // or clipped
  std::string look = "once";       // at the model, when it is trained; or often, by evaluations and copies
  std::string folder = {};
};

// Converts a task to one word and back.
std::string in_a_word(const WorkerTask& task);

// The exit code.
int run_worker(const std::string& task);

// The results of the rank: for each look, the output of an evaluation and the parameters.
std::vector<float> seen_by(const WorkerTask& task, int rank);

}  // namespace starling::torch
