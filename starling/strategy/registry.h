// The registry of strategies: one entry each, which is all that the command line, the documentation and the
// conformance tests know of them.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "starling/strategy/options.h"
#include "starling/strategy/strategy.h"

namespace starling::strategy {

// The effect of a worker's death on the others. A rank with a service takes the service with it.
enum class OnLoss {
  kEnds,    // they end with PeerLost
  kGoesOn,  // they go on without it, unless it ran the service: then they end with PeerLost
};

struct Promises {
  OnLoss on_loss = OnLoss::kEnds;
  bool needs_all = false;  // its exchanges are among all workers: they go on after agreeing on who is left
  bool takes_joiners = false;   // workers may join after the start
  bool conserves_mean = false;  // without gradients the mean of the models does not change, whatever they are
  std::string staleness = {};   // bound on how old a gradient's model may be, in updates
  std::string steps = "all workers make the same number";
  std::string waits_for = {};  // "the slowest worker, every step"
  std::string bytes = {};      // sent per worker and step; M = bytes of the model, n = workers
};

struct Shape {
  int workers = 1;
  std::size_t elements = 0;  // of the model, float32
  std::uint64_t steps = 0;   // of each worker
};

struct StrategyEntry {
  std::string name = {};
  std::string summary = {};
  std::vector<OptionSpec> options = {};
  Promises promises = {};
  std::function<std::unique_ptr<Strategy>(const Options&, int workers)> make = {};
  // The exact bytes that a worker sends in a run without losses; none where they depend on more than this.
  std::function<std::optional<std::uint64_t>(const Options&, const Shape&, Rank)> bytes_sent = {};
  // Whether with these options all workers' models have the same bits between two steps; none: never.
  std::function<bool(const Options&)> equal_models = {};
  // Whether with these options models do not only become plain means of others: means are weighted by
  // samples, or something else that the strategy has, a momentum or a centre, moves the models. Then means
  // are not preserved, and a run of one worker is not plain SGD; none: never.
  std::function<bool(const Options&)> moves_models = {};
  // Whether with these options all workers must be on one host, without emulated links; none: never.
  std::function<bool(const Options&)> needs_one_host = {};
  // Settings that the conformance tests run.
  std::vector<OptionTexts> variants = {};
};

template <class Kind>
std::unique_ptr<Strategy> make(const Options& options, int workers) {
  return std::make_unique<Kind>(options, workers);
}

const std::vector<StrategyEntry>& registry();

// All options with their values, those by default included: "mode=asp, server=own".
std::string options_text(const StrategyEntry& entry, const OptionTexts& given);

bool has_equal_models(const StrategyEntry& row, const Options& options);
bool moves_models(const StrategyEntry& row, const Options& options);
bool needs_one_host(const StrategyEntry& row, const Options& options);
// InvalidArgument if these options need one host, and the workers are elsewhere, too.
void check_hosts(const StrategyEntry& row, const Options& options, bool on_one_host);
// The text of that error; `what` is the strategy.
std::string one_host_needed(std::string_view what);
// InvalidArgument if not, naming options for which it is true.
void check_equal_models(const StrategyEntry& row, const Options& options);

// InvalidArgument, with the nearest name, if there is no strategy of this name.
const StrategyEntry& find_strategy(std::string_view name);

}  // namespace starling::strategy
