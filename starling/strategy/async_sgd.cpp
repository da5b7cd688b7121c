#include "starling/strategy/async_sgd.h"

#include "starling/strategy/ps.h"

namespace starling::strategy {

StrategyEntry async_sgd_row() {
  return {
      .name = "async-sgd",
      .summary = "gradients go to a server, which applies each when it comes; the same as ps --mode asp",
      .options = {ps_scale_option(), ps_server_option()},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .takes_joiners = true,
                   .staleness = "none",
                   .steps = "each worker makes its own",
                   .waits_for = "nobody",
                   .bytes = "M + 16 (the server: n M)"},
      .make = [](const Options& options, int) -> std::unique_ptr<Strategy> {
        return std::make_unique<ParameterServer>(
            ParameterServer::Rules{.mode = ParameterServer::Mode::kAsp,
                                   .scale_by_staleness = options.text("scale") == "staleness"},
            ps_placement(options));
      },
      .bytes_sent = ps_bytes_sent,
      .variants = {{}, {{"scale", "none"}, {"server", "beside"}}},
  };
}

}  // namespace starling::strategy
