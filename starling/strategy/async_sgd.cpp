#include "starling/strategy/async_sgd.h"

#include <utility>
#include <vector>

#include "starling/strategy/ps.h"

namespace starling::strategy {

namespace {

std::vector<OptionSpec> options_of_async_sgd() {
  std::vector<OptionSpec> options{ps_scale_option(), ps_server_option()};
  for (OptionSpec& option : ps_compression_options()) options.push_back(std::move(option));
  return options;
}

}  // namespace

StrategyEntry async_sgd_row() {
  return {
      .name = "async-sgd",
      .summary = "gradients go to a server, which applies each when it comes; the same as ps --mode asp",
      .options = options_of_async_sgd(),
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .takes_joiners = true,
                   .staleness = "none",
                   .steps = "each worker makes its own",
                   .waits_for = "nobody",
                   .bytes = "M + 16 (the server: n M)"},
      .make = [](const Options& options, int) -> std::unique_ptr<Strategy> {
        ParameterServer::Rules rules{.mode = ParameterServer::Mode::kAsp,
                                     .scale_by_staleness = options.text("scale") == "staleness"};
        read_ps_compression(options, "async-sgd", rules);
        return std::make_unique<ParameterServer>(rules, ps_placement(options));
      },
      .bytes_sent = ps_bytes_sent,
      .moves_models = ps_sends_codes,
      .variants = {{},
                   {{"scale", "none"}, {"server", "beside"}},
                   {{"compress-push", "topk:0.1+int8"}, {"compress-pull", "int8"}}},
  };
}

}  // namespace starling::strategy
