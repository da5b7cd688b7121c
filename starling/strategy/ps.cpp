#include "starling/strategy/ps.h"

#include "starling/core/error.h"
#include "starling/strategy/ps_server.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

Task<> ParameterServer::run(Worker& self) const {
  const Rank server = self.server();
  if (!self.starts(self.rank())) {
    co_await self.net().send(server, own_tag(Channel::kEnter, self.rank()), {});
    co_await receive(self, server, own_tag(Channel::kPull, self.rank()), self.parameters());
  }
  while (co_await self.compute()) {
    PushTerms terms{weight_of_gradient(self), self.learning_rate()};
    auto announced = self.net().send(server, own_tag(Channel::kTerms, self.rank()), bytes_of(terms));
    auto pushed = self.net().send(server, own_tag(Channel::kPush, self.rank()), self.gradients().span());
    co_await receive(self, server, own_tag(Channel::kPull, self.rank()), self.parameters());
    co_await announced;
    co_await pushed;
  }
  co_await self.net().send(server, own_tag(Channel::kLeave, self.rank()), {});
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
      .scale_by_staleness = options.text("mode") == "asp" && options.text("scale") == "staleness"};
  if (options.text("mode") == "asp") rules.mode = Mode::kAsp;
  if (options.text("mode") == "ssp") rules.mode = Mode::kSsp;
  if (rules.backup >= workers) {
    throw InvalidArgument(concat("strategy ps, option backup: ", rules.backup, " of ", workers,
                                 " workers leave none to train; allowed: 0 to ", workers - 1));
  }
  return std::make_unique<ParameterServer>(rules, ps_placement(options));
}

}  // namespace

StrategyEntry ps_row() {
  return {
      .name = "ps",
      .summary = "a parameter server; bsp waits for all, ssp for those too far behind, asp for nobody",
      .options = {OptionSpec::choice("mode", {"bsp", "asp", "ssp"}, "whom a worker waits for"),
                  OptionSpec::integer("staleness", 3, 1, 1'000'000,
                                      "steps a worker may be ahead of the slowest")
                      .with("mode=ssp"),
                  OptionSpec::integer("backup", 0, 0, 1'000'000,
                                      "gradients per version that are not waited for")
                      .with("mode=bsp"),
                  ps_scale_option().with("mode=asp"), ps_server_option()},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .takes_joiners = true,
                   .staleness = "bsp 0; ssp: workers are at most `staleness` steps apart; asp none",
                   .steps = "each worker makes its own",
                   .waits_for =
                       "bsp: all but the `backup` slowest; ssp: who is `staleness` steps behind; asp: nobody",
                   .bytes = "M + 16 (the server: n M)"},
      .make = make_ps,
      .bytes_sent = ps_bytes_sent,
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
                   {{"mode", "bsp"}, {"server", "beside"}}},
  };
}

}  // namespace starling::strategy
