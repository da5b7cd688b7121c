#include "starling/strategy/allreduce.h"

#include "starling/collective/cost.h"
#include "starling/collective/select.h"
#include "starling/strategy/exchange.h"

namespace starling::strategy {

AllReduce::AllReduce(const Options& options, int) : algorithm_(algorithm_of(options)) {}

Task<> AllReduce::run(Worker& self) const {
  const collective::SharedGroup everyone = self.everyone();
  while (co_await self.compute()) {
    co_await average_gradients(self, everyone, self.step(), algorithm_);
    co_await self.update();
  }
}

OptionSpec algorithm_option() {
  return OptionSpec::choice("algorithm", {"auto", "ring", "halving", "doubling"},
                            "algorithm of the all-reduce; auto: by size and number of workers");
}

collective::Choice algorithm_of(const Options& options) {
  const std::string& name = options.text("algorithm");
  if (name == "auto") return {};
  return collective::parse_algorithm(name, "algorithm");
}

std::uint64_t all_reduce_bytes(const Options& options, int workers, std::size_t elements, Rank rank) {
  if (workers == 1) return 0;
  const auto members = static_cast<std::size_t>(workers);
  const collective::Call call{.algorithm = algorithm_of(options).value_or(
                                  collective::Selection::network().choose(elements * sizeof(float), members)),
                              .members = members,
                              .count = elements};
  return cost_of(call, static_cast<std::size_t>(rank)).bytes;
}

Row allreduce_row() {
  return {
      .name = "allreduce",
      .summary = "synchronous SGD: the gradients of all workers are averaged every step",
      .options = {algorithm_option()},
      .promises = {.lockstep = true,
                   .on_loss = OnLoss::kEnds,
                   .conserves_mean = true,
                   .staleness = "0",
                   .waits_for = "the slowest worker, every step",
                   .bytes = "2 M (n-1)/n with ring or halving, M log2 n with doubling"},
      .make = make<AllReduce>,
      .bytes_sent =
          [](const Options& options, const Shape& shape, Rank rank) {
            return shape.steps * all_reduce_bytes(options, shape.workers, shape.elements, rank);
          },
      .variants = {{}, {{"algorithm", "ring"}}, {{"algorithm", "halving"}}, {{"algorithm", "doubling"}}},
  };
}

}  // namespace starling::strategy
