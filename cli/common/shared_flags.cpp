#include "cli/common/shared_flags.h"

#include <limits>

#include "starling/cluster/cluster_flags.h"
#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/join/run_environment.h"
#include "starling/optim/optimizer.h"
#include "starling/strategy/gradient_check.h"
#include "starling/strategy/registry.h"

namespace starling::cli {
namespace {

constexpr long long kMostSeeds = 100'000;
constexpr auto kHighestSeed = std::numeric_limits<long long>::max();

Flag<std::string> strategy_flag() {
  std::vector<std::string_view> names;
  for (const strategy::StrategyEntry& row : strategy::registry()) names.emplace_back(row.name);
  return {
      "--strategy",
      concat(join_texts(names), "; its options are flags too, listed by `starling strategies NAME`"),
      text_like("NAME", [](const std::string& text, std::string_view) { strategy::find_strategy(text); })};
}

// --slow and the like; their subjects are checked against the cluster.
Flag<std::string> fault_flag(std::string name, std::string type, std::string help) {
  return {std::move(name), std::move(help),
          text_like(std::move(type),
                    [](const std::string& text, auto flag) { cluster::check_form(flag, text); })};
}

Grammar<std::string> jitter() {
  return text_like("FORM", [](const std::string& text, auto flag) { cluster::parse_jitter(text, flag); });
}

Grammar<std::string> optimizer() {
  return text_like("NAME", [](const std::string& text, auto flag) { optim::parse_optimizer(text, flag); });
}

Grammar<std::string> nonfinite() {
  return text_like("WORD", [](const std::string& text, auto flag) { strategy::parse_nonfinite(text, flag); });
}

// "1..100", both ends included.
std::vector<std::uint64_t> read_seeds(const std::string& text, std::string_view flag) {
  const std::string what = concat(flag, ": '", text, "'");
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) throw InvalidArgument(concat(what, "; allowed: FIRST..LAST, as in 1..100"));
  const long long first = parse_integer(text.substr(0, dots), what, 0, kHighestSeed);
  const long long last = parse_integer(text.substr(dots + 2), what, 0, kHighestSeed);
  if (last < first || last - first >= kMostSeeds) {
    throw InvalidArgument(
        concat(what, "; allowed: FIRST..LAST with 1 to ", kMostSeeds, " seeds, the smaller one first"));
  }
  std::vector<std::uint64_t> seeds;
  for (long long seed = first; seed <= last; ++seed) seeds.push_back(static_cast<std::uint64_t>(seed));
  return seeds;
}

// Whether vectors are excluded.
bool read_exclusion(const std::string& text, std::string_view flag) {
  if (text == "vectors" || text == "none") return text == "vectors";
  throw InvalidArgument(concat(flag, ": '", text, "'; allowed: vectors, none"));
}

void add_worker_flags(SharedFlags& flags) {
  flags.strategy = strategy_flag();
  flags.workers = {"-n,--workers", "number of workers", whole_number()};
  flags.jitter = {"--jitter",
                  "random variation of step times: none, normal:S, lognormal:S, exponential, "
                  "pareto:A, bernoulli:P:X",
                  jitter()};
  flags.jitter_span = {
      "--jitter-span", "how long a factor of the jitter lasts: a piece of a step, a step, or N steps",
      text_like("piece|step|N",
                [](const std::string& text, auto flag) { cluster::parse_jitter_span(text, flag); })};
  flags.slow = fault_flag("--slow", "WORKER:FACTOR[@FROM[-TO]],...",
                          "makes workers slower, as in 0:4,3:2@10s-20s; repeatable");
  flags.pause = fault_flag("--pause", "WORKER@FROM[-TO],...", "stops workers for a while; repeatable");
  flags.kill = fault_flag("--kill", "WORKER@AT,...", "kills workers; repeatable");
  flags.on_loss = {"--on-loss",
                   "go-on: without a lost worker, where the strategy can; end: a loss ends the run where the "
                   "strategy needs all workers",
                   {"go-on|end", join::parse_on_loss}};
  flags.step_time = {"--step-time", "duration of a step at speed 1; replays have their own", positive_time()};
  flags.link = {"--link", "emulates slower links between workers: 1gbe, 10gbe, ..., or 40gbit/5us",
                link_speed()};
}

void add_learning_flags(SharedFlags& flags) {
  flags.batch = {"--batch", "samples in a worker's step", whole_number(1, kLargestBatch)};
  flags.optimizer = {"--optimizer", "sgd, adam, adamw, lars, lamb", optimizer()};
  flags.lr = {"--lr", "learning rate", number(0, kLarge)};
  flags.scale_lr = {"--scale-lr",
                    "multiplies the learning rate by the number of workers (linear) or its root (sqrt)",
                    {"none|linear|sqrt", optim::parse_rate_scale}};
  flags.momentum = {"--momentum", "momentum of sgd, lars", number(0, 1)};
  flags.nesterov = {"--nesterov", "uses Nesterov's form of the momentum"};
  flags.weight_decay = {"--weight-decay", "weight decay", number(0, kLarge)};
  flags.trust = {"--trust", "trust coefficient of lars", number(0, kLarge)};
  flags.exclude = {"--exclude",
                   "tensors that lars and lamb give the plain rate and no weight decay: vectors (biases and "
                   "others of one dimension), none",
                   {"vectors|none", read_exclusion}};
  flags.clip_norm = {"--clip-norm", "largest 2-norm of a gradient; 0: no limit", number(0, kLarge)};
  flags.nonfinite = {
      "--nonfinite",
      "a worker's step whose gradient is not finite: skip: weighs nothing, ten in a row end the "
      "run; stop: ends the run",
      nonfinite()};
}

void add_run_flags(SharedFlags& flags) {
  flags.steps = {"--steps", "steps of each worker", whole_number(1, kMostSteps)};
  flags.max_seconds = {"--max-seconds", "no step begins later than this", number(0.001, 1e9)};
  flags.target_loss = {"--target-loss", "loss to reach; the summary says when", number(-kLarge, kLarge)};
  flags.target_accuracy = {"--target-accuracy",
                           "accuracy on the test set to reach, 0 to 1; the summary says when", number(0, 1)};
  flags.seed = {"--seed", "seed of everything random", whole_number(0, kHighestSeed)};
  flags.seeds = {"--seeds", "runs all these seeds and shows how they spread", {"FIRST..LAST", read_seeds}};
  flags.checkpoint_every = {"--checkpoint-every", "steps between two checkpoints, which go into --out",
                            whole_number(1, kMostSteps)};
  flags.resume = {"--resume", "folder of a run; continues from its last checkpoint", any_text()};
  flags.out = {"--out", "folder for the files of the run", any_text()};
  flags.resume.grammar.type = flags.out.grammar.type = "DIR";
  flags.record = {"--record",
                  "full: sums of the run, and its time line within a limit, or within SPANS of each rank; "
                  "summary: sums only; off: nothing",
                  {"full[:SPANS]|summary|off", record::parse_record_plan}};
  flags.svg = {"--svg", "also draws the curves into this file", any_text()};
  flags.force = {"--force", "replaces the files of an earlier run in --out"};
  flags.json = {"--json", "prints summary.json instead of the table"};
}

}  // namespace

const SharedFlags& shared_flags() {
  static const SharedFlags flags = [] {
    SharedFlags table;
    add_worker_flags(table);
    add_learning_flags(table);
    add_run_flags(table);
    return table;
  }();
  return flags;
}

}  // namespace starling::cli
