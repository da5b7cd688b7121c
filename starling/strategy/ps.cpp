#include "starling/strategy/ps.h"

#include <optional>

#include "starling/core/error.h"
#include "starling/strategy/centre/ps_server.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

// What the server gives a worker: its part of the next batch, if batches are balanced, and the model.
Task<> pull(Worker& self, StepPlan& plan) {
  const Rank server = self.server();
  std::optional<transport::Receiving> part;
  if (plan.portion) {
    part.emplace(self.net(), server, own_tag(Channel::kPart, self.rank()), bytes_of(*plan.portion));
  }
  co_await receive(self, server, own_tag(Channel::kPull, self.rank()), self.parameters());
  if (part) co_await *part;
}

}  // namespace

Task<> ParameterServer::run(Worker& self) const {
  const auto to_server = [&self](Channel channel, std::span<const std::byte> bytes) {
    return self.net().send(self.server(), own_tag(channel, self.rank()), bytes);
  };
  StepPlan plan;
  std::optional<WorkerSpeed> speed;
  if (rules_.balance.by_speed) {
    speed.emplace(self);
    plan.portion = Portion::equal(self.rank(), self.workers());
    self.keep("portion", bytes_of(*plan.portion));
  }
  if (!self.starts(self.rank())) {
    co_await to_server(Channel::kEnter, {});
    co_await pull(self, plan);
  }
  for (;;) {
    const bool more = co_await self.compute(plan);
    if (!more) break;
    PushTerms terms{weight_of_gradient(self), self.learning_rate()};
    auto announced = to_server(Channel::kTerms, bytes_of(terms));
    SpeedReport report;
    std::optional<transport::Sending> reported;
    if (speed) {
      speed->step_computed();
      report = {speed->seconds(), static_cast<double>(self.samples())};
      reported.emplace(self.net(), self.server(), own_tag(Channel::kPace, self.rank()), bytes_of(report));
    }
    auto pushed = to_server(Channel::kPush, self.gradients().span());
    co_await pull(self, plan);
    co_await announced;
    if (reported) co_await *reported;
    co_await pushed;
  }
  co_await to_server(Channel::kLeave, {});
}

Task<> ParameterServer::serve(Member& self) const {
  PsServer server(self, rules_);
  co_await server.run();
}

OptionSpec ps_scale_option() {
  return OptionSpec::choice("scale", {"staleness", "none"},
                            "staleness: divides the learning rate by 1 + a gradient's staleness; none: "
                            "leaves it");
}

OptionSpec ps_server_option() {
  return OptionSpec::choice("server", {"own", "beside"}, "own: on a host of its own; beside: on worker 0's");
}

Placement ps_placement(const Options& options) {
  return options.text("server") == "own" ? Placement::kOwnRank : Placement::kBesideWorker0;
}

std::optional<std::uint64_t> ps_bytes_sent(const Options& options, const Shape& shape, Rank rank) {
  const std::uint64_t model = shape.elements * sizeof(float);
  const bool serves = rank == 0 && options.text("server") == "beside";
  const std::uint64_t served = serves ? model * static_cast<std::uint64_t>(shape.workers) : 0;
  return shape.steps * (model + sizeof(PushTerms) + served);
}

namespace {

std::unique_ptr<Strategy> make_ps(const Options& options, int workers) {
  using Mode = ParameterServer::Mode;
  ParameterServer::Rules rules{
      .mode = Mode::kBsp,
      .staleness = static_cast<std::uint64_t>(options.integer("staleness")),
      .backup = static_cast<int>(options.integer("backup")),
      .scale_by_staleness = options.text("mode") == "asp" && options.text("scale") == "staleness",
      .balance = balance_rules(options, "ps", workers)};
  if (options.text("mode") == "asp") rules.mode = Mode::kAsp;
  if (options.text("mode") == "ssp") rules.mode = Mode::kSsp;
  if (rules.backup >= workers) {
    throw InvalidArgument(concat("strategy ps, option backup: ", rules.backup, " of ", workers,
                                 " workers leave none to train; allowed: 0 to ", workers - 1));
  }
  if (rules.balance.by_speed && rules.backup > 0) {
    throw InvalidArgument(concat("strategy ps, option balance: speed, with backup=", rules.backup,
                                 "; allowed: speed with backup=0, which drops no part of the batch"));
  }
  return std::make_unique<ParameterServer>(rules, ps_placement(options));
}

}  // namespace

StrategyEntry ps_row() {
  return {
      .name = "ps",
      .summary = "a parameter server; bsp waits for all, ssp for those too far behind, asp for nobody",
      .options = balanced(
          {OptionSpec::choice("mode", {"bsp", "asp", "ssp"}, "whom a worker waits for"),
           OptionSpec::integer("staleness", 3, 1, 1'000'000, "steps a worker may be ahead of the slowest")
               .with("mode=ssp"),
           OptionSpec::integer("backup", 0, 0, 1'000'000, "gradients per version that are not waited for")
               .with("mode=bsp"),
           ps_scale_option().with("mode=asp"), ps_server_option()},
          "mode=bsp"),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .takes_joiners = true,
                   .staleness = "bsp 0; ssp: workers are at most `staleness` steps apart; asp none",
                   .steps = "each worker makes its own",
                   .waits_for =
                       "bsp: all but the `backup` slowest, with `balance` nobody if speeds are steady; "
                       "ssp: who is `staleness` steps behind; asp: nobody",
                   .bytes = "M + 16 (the server: n M)"},
      .make = make_ps,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("balance") != "none") return {};
        return ps_bytes_sent(options, shape, rank);
      },
      .equal_models =
          [](const Options& options) {
            return options.text("mode") == "bsp" && options.integer("backup") == 0;
          },
      .variants = {{},
                   {{"mode", "bsp"}, {"backup", "1"}},
                   {{"mode", "asp"}},
                   {{"mode", "asp"}, {"scale", "none"}},
                   {{"mode", "ssp"}, {"staleness", "2"}},
                   {{"mode", "ssp"}, {"staleness", "1"}, {"server", "beside"}},
                   {{"mode", "bsp"}, {"server", "beside"}},
                   {{"balance", "speed"}},
                   {{"balance", "speed"}, {"server", "beside"}, {"max-batch", "24"}}},
  };
}

}  // namespace starling::strategy
