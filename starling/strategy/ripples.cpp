#include "starling/strategy/ripples.h"

#include <utility>

#include "starling/core/error.h"
#include "starling/core/text.h"
#include "starling/strategy/averaging/group_averaging.h"

namespace starling::strategy {

namespace {

using coordination::GroupRules;

GroupRules::Kind kind_of(const std::string& name) {
  if (name == "static") return GroupRules::Kind::kStatic;
  if (name == "random") return GroupRules::Kind::kRandom;
  if (name == "ready") return GroupRules::Kind::kReady;
  return GroupRules::Kind::kSmart;
}

// Whole hosts, three, or pairs, which wait least for each other and reached a given loss soonest.
std::size_t usual_size(GroupRules::Kind kind) {
  if (kind == GroupRules::Kind::kStatic) return 0;
  return kind == GroupRules::Kind::kSmart ? 2 : 3;
}

GroupRules rules_of(const Options& options) {
  GroupRules rules;
  rules.kind = kind_of(options.text("groups"));
  const auto size = static_cast<std::size_t>(options.integer("group-size"));
  if (size == 1) {
    throw InvalidArgument(
        "strategy ripples, option group-size: 1 averages nothing; allowed: 0 or at least 2");
  }
  rules.size = size > 0 ? size : usual_size(rules.kind);
  rules.threshold = static_cast<std::uint64_t>(options.integer("threshold"));
  rules.lateness = options.number("lateness");
  rules.by_host = options.text("division") == "hosts";
  rules.window = parse_duration(options.text("window"), "strategy ripples, option window");
  rules.weigh_staleness = options.text("weights") == "staleness";
  return rules;
}

// The average of vectors as they were at a boundary, while the worker goes on with them.
class Overlap {
 public:
  Overlap(Worker& self, GroupAveraging& meetings, const runtime::Context& context)
      : self_(self), meetings_(meetings), under_way_(context) {}

  void watch(const std::vector<Data>& vectors) {
    vectors_ = vectors;
    for (const Data vector : vectors_) {
      before_.push_back(self_.allocate(vector.count));
      mean_.push_back(self_.allocate(vector.count));
      means_.push_back(mean_.back().data);
    }
  }

  void begin() {
    begun_ = true;
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      copy(vectors_[i], before_[i].data);
      copy(vectors_[i], means_[i]);
    }
    computed_.reset();
    under_way_.spawn(meetings_.synchronise_beside(means_, computed_), "average");
  }

  // Keeps the changes that the worker has made meanwhile.
  Task<> finish() {
    if (!std::exchange(begun_, false)) co_return;
    computed_ = self_.now();
    co_await under_way_.join();
    for (std::size_t i = 0; i < vectors_.size(); ++i) {
      if (vectors_[i].ghost()) continue;
      const std::span<float> x = floats(vectors_[i]), before = floats(before_[i].data),
                             mean = floats(means_[i]);
      for (std::size_t e = 0; e < x.size(); ++e) x[e] += mean[e] - before[e];
    }
  }

 private:
  Worker& self_;
  GroupAveraging& meetings_;
  std::vector<Data> vectors_;
  std::vector<Buffer> before_, mean_;
  std::vector<Data> means_;
  bool begun_ = false;
  std::optional<Time> computed_;
  runtime::Scope under_way_;
};

}  // namespace

Ripples::Ripples(const Options& options, int)
    : rules_(rules_of(options)),
      period_(static_cast<std::uint64_t>(options.integer("period"))),
      average_momentum_(options.text("average") == "momentum"),
      overlap_(options.flag("overlap")) {}

// A worker that pauses, or ends, first runs the groups that it is in.
Task<> Ripples::run(Worker& self) const {
  GroupAveraging meetings(self, join_groups(self, rules_), rules_.weigh_staleness);
  std::vector<Data> vectors{self.parameters()};
  if (average_momentum_) {
    for (const Data vector : self.optimizer_state()) vectors.push_back(vector);
  }
  const runtime::Context& context = co_await runtime::this_context();
  Overlap overlap(self, meetings, context);
  if (overlap_) overlap.watch(vectors);
  std::uint64_t local_steps = 0;
  self.keep("ripples", bytes_of(local_steps));
  while (co_await self.compute()) {
    if (self.samples() > 0) co_await self.update();
    if (++local_steps >= period_) {
      local_steps = 0;
      co_await overlap.finish();
      if (overlap_) overlap.begin();
      if (!overlap_) co_await meetings.synchronise(vectors);
    }
    if (!self.rests_next()) continue;
    co_await overlap.finish();
    co_await meetings.leave(vectors);
  }
  co_await overlap.finish();
  co_await meetings.leave(vectors);
}

StrategyEntry ripples_row() {
  return {
      .name = "ripples",
      .summary = "models are averaged in small groups that change; slow workers hold up few others, or none",
      .options =
          {OptionSpec::choice("groups", {"smart", "static", "random", "ready"},
                              "smart: divided among the idle; static: a schedule; random: drawn by who asks; "
                              "ready: the first that come"),
           OptionSpec::integer("group-size", 0, 0, 1'000'000,
                               "members of a group; 0: with groups=smart 2, static whole hosts, else 3"),
           OptionSpec::integer("period", 1, 1, 1'000'000, "local steps between two averages")
               .recorded_as("section"),
           OptionSpec::integer("threshold", 4, 1, 1'000'000,
                               "requests that a worker may be behind the one that asks and still be invited")
               .with("groups=smart"),
           OptionSpec::number("lateness", "0.25", 0, 1e6,
                              "periods by which a worker that is invited may come later, in every fourth "
                              "division at least one; 0: any")
               .with("groups=smart"),
           OptionSpec::choice("division", {"hosts", "global"},
                              "hosts: one worker of each averages between hosts, then all inside; global: "
                              "at random")
               .with("groups=smart"),
           OptionSpec::text("window", "5ms", "how long the first that is ready waits for others")
               .with("groups=ready"),
           OptionSpec::choice("weights", {"equal", "staleness"},
                              "of the members in a mean; staleness: less for who is behind")
               .with("groups=ready"),
           OptionSpec::choice(
               "average", {"model", "momentum"},
               "momentum: the vectors of the optimiser too; model: they stay each worker's own"),
           OptionSpec::flag("overlap", "average while the next steps are computed")},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .conserves_mean = true,
                   .staleness = "0; with `overlap` a mean is `period` steps old",
                   .steps = "each worker makes its own; with groups=static all make the same number",
                   .waits_for =
                       "the slowest of its group; smart: nobody who is expected later than `lateness`; "
                       "ready: nobody who computes, but to join groups that have fallen apart",
                   .bytes = "2 M (k-1)/(k `period`) with ring, k = members of the group; random: about k "
                            "times that"},
      .make = make<Ripples>,
      .bytes_sent = [](const Options&, const Shape&, Rank) { return std::optional<std::uint64_t>(); },
      .variants = {{},
                   {{"groups", "static"}},
                   {{"groups", "static"}, {"group-size", "2"}},
                   {{"groups", "random"}},
                   {{"groups", "ready"}},
                   {{"groups", "smart"}, {"division", "global"}, {"group-size", "2"}, {"period", "3"}},
                   {{"groups", "smart"}, {"overlap", "1"}, {"average", "momentum"}},
                   {{"groups", "ready"}, {"overlap", "1"}, {"period", "2"}}},
  };
}

}  // namespace starling::strategy
