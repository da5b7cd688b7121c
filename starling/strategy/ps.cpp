#include "starling/strategy/ps.h"

#include <optional>

#include "starling/core/error.h"
#include "starling/strategy/centre/ps_server.h"
#include "starling/strategy/compressed/coded_vector.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

// A worker's side of the messages.
class ServerLink {
 public:
  ServerLink(Worker& self, const ParameterServer::Rules& rules) : self_(self) {
    const compression::Layout layout = layout_of(self.sections());
    if (rules.push) gradient_.emplace(self, *rules.push.rule, layout, seed_of_codes(self.rank()));
    if (rules.push.feedback) gradient_->keep_residual("of gradients");
    if (rules.pull) change_.emplace(self, *rules.pull.rule, layout, seed_of_codes(self.rank()));
    self.keep("codes", bytes_of(codes_));
  }

  transport::Sending send(Channel channel, std::span<const std::byte> bytes) {
    return self_.net().send(self_.server(), own_tag(channel, self_.rank()), bytes);
  }

  // What is sent of the gradient, if it counts.
  Task<> encode(bool counts) {
    ++codes_.pushed;
    if (!gradient_) co_return;
    const Stopwatch watch(self_, record::Activity::kCode);
    co_await gradient_->pass_time();
    gradient_->encode_nothing();
    if (counts) gradient_->encode(self_.gradients(), codes_.pushed);
  }
  transport::Sending push() {
    return send(Channel::kPush, (gradient_ ? gradient_->code() : self_.gradients()).span());
  }

  // What the server gives a worker: its part of the next batch, if batches are balanced, and the model, which
  // is complete for a worker that has just joined.
  Task<> pull(StepPlan& plan, bool complete = false) {
    const Rank server = self_.server();
    std::optional<transport::Receiving> part;
    if (plan.portion) {
      part.emplace(self_.net(), server, own_tag(Channel::kPart, self_.rank()), bytes_of(*plan.portion));
    }
    const Tag tag = own_tag(Channel::kPull, self_.rank());
    if (complete || !change_) {
      co_await receive(self_, server, tag, self_.parameters());
    } else {
      co_await receive(self_, server, tag, change_->code());
      const Stopwatch watch(self_, record::Activity::kCode);
      change_->add_to(self_.parameters(), ++codes_.pulled);
    }
    if (part) co_await *part;
  }

 private:
  Worker& self_;
  std::optional<CodedVector> gradient_;
  std::optional<CodedVector> change_;
  CodesCounted codes_;
};

}  // namespace

Task<> ParameterServer::run(Worker& self) const {
  ServerLink link(self, rules_);
  StepPlan plan;
  std::optional<WorkerSpeed> speed;
  if (rules_.balance.by_speed) {
    speed.emplace(self);
    plan.portion = Portion::equal(self.rank(), self.workers());
    self.keep("portion", bytes_of(*plan.portion));
  }
  if (!self.starts(self.rank())) {
    co_await link.send(Channel::kEnter, {});
    co_await link.pull(plan, true);
  }
  for (;;) {
    const bool more = co_await self.compute(plan);
    if (!more) break;
    PushTerms terms{weight_of_gradient(self), self.learning_rate()};
    co_await link.encode(terms.weight > 0);
    auto announced = link.send(Channel::kTerms, bytes_of(terms));
    SpeedReport report;
    std::optional<transport::Sending> reported;
    if (speed) {
      speed->step_computed();
      report = {speed->seconds(), static_cast<double>(self.samples())};
      reported.emplace(self.net(), self.server(), own_tag(Channel::kPace, self.rank()), bytes_of(report));
    }
    auto pushed = link.push();
    co_await link.pull(plan);
    co_await announced;
    if (reported) co_await *reported;
    co_await pushed;
  }
  co_await link.send(Channel::kLeave, {});
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

std::vector<OptionSpec> ps_compression_options() {
  return {compression_option("compress-push", "gradients"),
          compression_option("compress-pull", "changes of the server's model"), feedback_option()};
}

void read_ps_compression(const Options& options, std::string_view owner, ParameterServer::Rules& rules) {
  rules.push = compression_rules(options, owner, "compress-push");
  rules.pull = compression_rules(options, owner, "compress-pull");
}

bool ps_sends_codes(const Options& options) {
  return options.text("compress-push") != "none" || options.text("compress-pull") != "none";
}

std::optional<std::uint64_t> ps_bytes_sent(const Options& options, const Shape& shape, Rank rank) {
  if (ps_sends_codes(options)) return {};  // depends on the sections
  const std::uint64_t model = shape.elements * sizeof(float);
  const bool serves = rank == 0 && options.text("server") == "beside";
  const std::uint64_t served = serves ? model * static_cast<std::uint64_t>(shape.workers) : 0;
  return shape.steps * (model + sizeof(PushTerms) + served);
}

namespace {

std::vector<OptionSpec> options_of_ps() {
  std::vector<OptionSpec> options = balanced(
      {OptionSpec::choice("mode", {"bsp", "asp", "ssp"}, "whom a worker waits for"),
       OptionSpec::integer("staleness", 3, 1, 1'000'000, "steps a worker may be ahead of the slowest")
           .with("mode=ssp"),
       OptionSpec::integer("backup", 0, 0, 1'000'000, "gradients per version that are not waited for")
           .with("mode=bsp"),
       ps_scale_option().with("mode=asp"), ps_server_option()},
      "mode=bsp");
  for (OptionSpec& option : ps_compression_options()) options.push_back(std::move(option));
  return options;
}

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
  read_ps_compression(options, "ps", rules);
  if (rules.push.feedback && rules.backup > 0) {
    throw InvalidArgument(concat(
        "strategy ps, option compress-push: ", options.text("compress-push"), " with backup=", rules.backup,
        "; allowed with it: feedback=off, since what is sent of a dropped gradient would be lost"));
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
      .options = options_of_ps(),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .takes_joiners = true,
                   .staleness = "bsp 0; ssp: workers are at most `staleness` steps apart; asp none",
                   .steps = "each worker makes its own",
                   .waits_for =
                       "bsp: all but the `backup` slowest, with `balance` nobody if speeds are steady; "
                       "ssp: who is `staleness` steps behind; asp: nobody",
                   .bytes = "M + 16 (the server: n M); less with `compress-push` and `compress-pull`"},
      .make = make_ps,
      .bytes_sent = [](const Options& options, const Shape& shape,
                       Rank rank) -> std::optional<std::uint64_t> {
        if (options.text("balance") != "none") return {};
        return ps_bytes_sent(options, shape, rank);
      },
      .equal_models =
          [](const Options& options) {
            return options.text("mode") == "bsp" && options.integer("backup") == 0 &&
                   options.text("compress-pull") == "none";
          },
      .moves_models = ps_sends_codes,
      .variants = {{},
                   {{"mode", "bsp"}, {"backup", "1"}},
                   {{"mode", "asp"}},
                   {{"mode", "asp"}, {"scale", "none"}},
                   {{"mode", "ssp"}, {"staleness", "2"}},
                   {{"mode", "ssp"}, {"staleness", "1"}, {"server", "beside"}},
                   {{"mode", "bsp"}, {"server", "beside"}},
                   {{"balance", "speed"}},
                   {{"balance", "speed"}, {"server", "beside"}, {"max-batch", "24"}},
                   {{"compress-push", "topk:0.1"}},
                   {{"compress-push", "int8"}, {"compress-pull", "fp16"}, {"server", "beside"}},
                   {{"mode", "asp"}, {"compress-push", "randk:0.2"}, {"compress-pull", "topk:0.2"}},
                   {{"mode", "ssp"}, {"compress-push", "powersgd:1"}}},
  };
}

}  // namespace starling::strategy
