#include "starling/strategy/easgd.h"

#include "starling/core/error.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/allreduce.h"
#include "starling/strategy/centre/replicated_centre.h"
#include "starling/strategy/centre/served_centre.h"
#include "starling/strategy/centre/shared_centre.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

constexpr double kBeta = 0.9;

// The exchanges of one worker.
class Exchanges final : public StepListener {
 public:
  Exchanges(Worker& self, const Easgd::Rules& rules, bool overlap, bool needs_difference,
            const runtime::Context& context)
      : self_(self),
        rules_(rules),
        overlap_(overlap),
        difference_(self.allocate(needs_difference ? self.parameters().count : 0)),
        scope_(context) {
    self.keep("steps since the exchange", bytes_of(alone_));
  }

  void use(Centre& centre) { centre_ = &centre; }
  const std::optional<Time>& time_of_computing() const { return computed_; }

  bool by_section() const override { return false; }
  void begins() override {
    computed_.reset();
    ++alone_;
    if (overlap_ && due()) scope_.spawn(pull(), "exchange with the centre");
  }
  Task<> settle() override { co_await scope_.join(); }

  void computed() { computed_ = self_.now(); }

  // The worker's own optimiser has made its step.
  Task<> finish_step() {
    if (!due()) co_return;
    alone_ = 0;
    if (overlap_) {
      take_away(difference_.data, self_.parameters());
    } else {
      co_await centre_->pull_both(self_.parameters(), alpha(), difference_.data);
    }
  }

 private:
  bool due() const { return alone_ >= rules_.period; }
  Task<> pull() { return centre_->pull(self_.parameters(), alpha(), difference_.data); }

  float alpha() const {
    if (rules_.rho) return static_cast<float>(*rules_.rho * self_.learning_rate());
    return static_cast<float>(rules_.alpha.value_or(kBeta / self_.workers()));
  }

  Worker& self_;
  const Easgd::Rules& rules_;
  bool overlap_;
  Centre* centre_ = nullptr;
  Buffer difference_;
  std::uint64_t alone_ = 0;  // steps since the last exchange, the present one included; part of checkpoints
  std::optional<Time> computed_;
  runtime::Scope scope_;
};

}  // namespace

Easgd::Place Easgd::place_for(Worker& self) const {
  if (rules_.place == Place::kAuto) return have_common_memory(self) ? Place::kShared : Place::kSharded;
  if (rules_.place == Place::kShared)
    require_common_memory(self, concat("strategy ", name_, " with centre=shared"));
  return rules_.place;
}

Task<> Easgd::run(Worker& self) const {
  const Place place = place_for(self);
  const bool overlap = rules_.overlap.value_or(place != Place::kShared);
  const bool needs_difference = overlap || place != Place::kShared;
  Exchanges exchanges(self, rules_, overlap, needs_difference, co_await runtime::this_context());
  const std::unique_ptr<Centre> centre = co_await open_centre(self, place, exchanges.time_of_computing());
  exchanges.use(*centre);
  StepPlan plan;
  plan.listener = &exchanges;
  while (co_await self.compute(plan)) {
    exchanges.computed();
    co_await exchanges.settle();  // it reads the model that the optimiser is about to change
    if (self.samples() > 0) co_await self.update();
    co_await exchanges.finish_step();
  }
  co_await centre->leave();
}

Task<std::unique_ptr<Centre>> Easgd::open_centre(Worker& self, Place place,
                                                 const std::optional<Time>& computed) const {
  if (place == Place::kReplicated)
    co_return std::make_unique<ReplicatedCentre>(self, rules_.algorithm, computed);
  if (place != Place::kShared) {
    const CentrePlace served = place == Place::kServer ? CentrePlace::kServer : CentrePlace::kSharded;
    co_return std::make_unique<ServedCentre>(self, served, rules_.order, computed);
  }
  const SharedModel::Rules rules{.locked = rules_.locked, .order = rules_.order};
  auto shared = std::make_unique<SharedCentre>(self, rules, computed);
  co_await shared->open();
  co_return std::move(shared);
}

Task<> Easgd::serve(Member& self) const {
  const std::size_t elements = self.initial_model().data.count;
  const SliceMap map(self, elements, CentrePlace::kServer);
  co_await CentreService::serve(std::make_shared<CentreService>(self, map, rules_.order));
}

namespace {

using Place = Easgd::Place;

std::vector<OptionSpec> elastic_options(std::string_view only_asynchronous) {
  const auto asynchronous = [&](OptionSpec spec) {
    return only_asynchronous.empty() ? spec : std::move(spec).with(std::string(only_asynchronous));
  };
  return {OptionSpec::integer("period", 1, 1, 1'000'000, "local steps between two exchanges"),
          OptionSpec::number_or("alpha", {"auto"}, 0, 1,
                                "how strongly a model and the centre pull each other; auto: 0.9 / workers"),
          OptionSpec::number_or("rho", {"none"}, 0, 1e6, "alpha is this times the learning rate"),
          OptionSpec::choice("overlap", {"auto", "on", "off"},
                             "on: the exchange goes on while the gradient is computed; auto: unless the "
                             "centre is shared"),
          asynchronous(OptionSpec::choice(
              "centre", {"auto", "shared", "sharded", "server"},
              "where the centre is. shared: in the memory of the host; sharded: every worker serves a "
              "slice; server: one rank serves it; auto: shared on one host, else sharded")),
          OptionSpec::choice("server", {"own", "beside"}, "own: on a host of its own; beside: on worker 0's")
              .with("centre=server")};
}

Easgd::Rules elastic_rules(const Options& options, std::string_view strategy) {
  Easgd::Rules rules;
  rules.period = static_cast<std::uint64_t>(options.integer("period"));
  rules.alpha = options.number_unless_word("alpha");
  rules.rho = options.number_unless_word("rho");
  if (rules.alpha && rules.rho) {
    throw InvalidArgument(concat("strategy ", strategy, ", option rho: ", *rules.rho, " beside alpha ",
                                 *rules.alpha, "; allowed: one of the two"));
  }
  if (options.text("overlap") != "auto") rules.overlap = options.text("overlap") == "on";
  const std::string& centre = options.text("centre");
  if (centre == "shared") rules.place = Place::kShared;
  if (centre == "sharded") rules.place = Place::kSharded;
  if (centre == "server") rules.place = Place::kServer;
  return rules;
}

Placement server_placement(const Options& options) {
  return options.text("server") == "own" ? Placement::kOwnRank : Placement::kBesideWorker0;
}

std::unique_ptr<Strategy> make_easgd(const Options& options, int) {
  Easgd::Rules rules = elastic_rules(options, "easgd");
  if (options.text("order") == "sync") rules.place = Place::kReplicated;
  if (options.text("order") == "round-robin") rules.order = CentreOrder::kRoundRobin;
  rules.algorithm = algorithm_of(options);
  return std::make_unique<Easgd>("easgd", rules, server_placement(options));
}

std::unique_ptr<Strategy> make_ea_wild(const Options& options, int) {
  Easgd::Rules rules = elastic_rules(options, "ea-wild");
  rules.locked = false;
  return std::make_unique<Easgd>("ea-wild", rules, server_placement(options));
}

// The bytes that a worker sends for an exchange with a served centre, and at the end; none where the place of
// the centre depends on the hosts.
std::optional<std::uint64_t> served_bytes(const Options& options, const Shape& shape, Rank rank) {
  const std::string& centre = options.text("centre");
  if (centre == "shared") return 0;
  if (centre == "auto") return {};
  const auto workers = static_cast<std::uint64_t>(shape.workers);
  const std::uint64_t exchanges = shape.steps / static_cast<std::uint64_t>(options.integer("period"));
  const std::uint64_t model = shape.elements * sizeof(float);
  if (centre == "server") {
    const bool serves = rank == 0 && options.text("server") == "beside";
    return exchanges * (model + sizeof(PullTerms) + (serves ? workers * model : 0)) + sizeof(PullTerms);
  }
  const std::uint64_t own =
      slice_of(shape.elements, workers, static_cast<std::size_t>(rank)).size() * sizeof(float);
  const std::uint64_t others = workers - 1;
  return exchanges * (model - own + others * (sizeof(PullTerms) + own)) + others * sizeof(PullTerms);
}

std::vector<OptionSpec> easgd_options() {
  std::vector<OptionSpec> options = elastic_options("order=async|round-robin");
  options.insert(options.begin(),
                 OptionSpec::choice("order", {"async", "sync", "round-robin"},
                                    "when a worker exchanges with the centre: when it wants to; all at once; "
                                    "in the order of ranks"));
  options.push_back(algorithm_option().with("order=sync"));
  return options;
}

}  // namespace

StrategyEntry easgd_row() {
  return {
      .name = "easgd",
      .summary = "elastic averaging: workers' models and a centre pull each other",
      .options = easgd_options(),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .staleness = "async none; round-robin n-1; sync 0",
                   .steps = "async and round-robin: each worker makes its own",
                   .waits_for =
                       "async: nobody's computing; round-robin: the ranks before it; sync: the slowest "
                       "worker; every `period` steps",
                   .bytes =
                       "M / period to a server, which sends n M; 2 M / period sharded or sync; 0 shared"},
      .make = make_easgd,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("order") != "sync") return served_bytes(options, shape, rank);
        const auto once = all_reduce_bytes(options, shape.workers, shape.elements, rank);
        const std::uint64_t exchanges = shape.steps / static_cast<std::uint64_t>(options.integer("period"));
        return once ? std::optional(exchanges * *once) : std::nullopt;
      },
      .moves_models = [](const Options&) { return true; },
      .needs_one_host = [](const Options& options) { return options.text("centre") == "shared"; },
      .variants = {{},
                   {{"centre", "shared"}, {"overlap", "on"}},
                   {{"centre", "sharded"}, {"period", "3"}},
                   {{"centre", "server"}, {"overlap", "off"}},
                   {{"centre", "server"}, {"server", "beside"}, {"order", "round-robin"}},
                   {{"order", "round-robin"}},
                   {{"order", "round-robin"}, {"centre", "shared"}, {"period", "2"}},
                   {{"order", "sync"}},
                   {{"order", "sync"}, {"overlap", "off"}, {"period", "2"}, {"rho", "5"}}},
  };
}

StrategyEntry ea_wild_row() {
  return {
      .name = "ea-wild",
      .summary = "elastic averaging without locks: everybody updates the centre at once",
      .options = elastic_options(""),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .staleness = "none",
                   .steps = "each worker makes its own",
                   .waits_for = "nobody",
                   .bytes = "0 shared; 2 M / period sharded; M / period to a server, which sends n M"},
      .make = make_ea_wild,
      .bytes_sent = served_bytes,
      .moves_models = [](const Options&) { return true; },
      .needs_one_host = [](const Options& options) { return options.text("centre") == "shared"; },
      .variants = {{}, {{"centre", "shared"}}, {{"centre", "sharded"}, {"overlap", "off"}}},
  };
}

}  // namespace starling::strategy
