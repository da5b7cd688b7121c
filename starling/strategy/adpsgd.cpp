#include "starling/strategy/adpsgd.h"

#include <set>

#include "starling/core/text.h"
#include "starling/runtime/scope.h"
#include "starling/strategy/averaging/pair_exchange.h"

namespace starling::strategy {

namespace {

// The workers that a worker may ask. Only the excluded ones are stored: if every worker may ask every other,
// thousands of simulated workers have no room for lists.
class Candidates {
 public:
  // All but `self`.
  Candidates(int workers, Rank self) : count_(static_cast<std::size_t>(workers)) {
    out_.insert(static_cast<std::size_t>(self));
  }
  // The neighbours that `self` asks. The graph must outlive this.
  Candidates(const coordination::Graph& graph, Rank self) : graph_(&graph), self_(self) { look_around({}); }

  // None if no candidate is left.
  std::optional<Rank> draw(Member& self) {
    if (graph_ != nullptr && self.net().lost_count() != lost_count_ && self.membership() != nullptr) {
      lost_count_ = self.net().lost_count();
      look_around(lost_workers(self));
    }
    while (out_.size() < count_) {
      const std::size_t index = draw_index(self.random());
      if (!self.lost(rank_of(index))) return rank_of(index);
      out_.insert(index);
    }
    return std::nullopt;
  }

  void remove(Rank rank) {
    finished_.insert(rank);
    for (std::size_t index = 0; index < count_; ++index) {
      if (rank_of(index) == rank) out_.insert(index);
    }
  }

 private:
  Group lost_workers(Member& self) const {
    Group lost;
    for (Rank rank = 0; rank < graph_->size(); ++rank) {
      if (self.lost(rank)) lost.push_back(rank);
    }
    return lost;
  }

  // Even ranks ask their neighbours. Two odd ranks are neighbours only where the graph has closed over lost
  // workers; both ask.
  void look_around(const Group& lost) {
    ranks_.clear();
    out_.clear();
    const coordination::Graph left = coordination::without_lost(*graph_, lost);
    for (const Rank rank : left.neighbours(self_)) {
      const bool asks = self_ % 2 == 0 || rank % 2 == 1;
      if (asks && finished_.count(rank) == 0) ranks_.push_back(rank);
    }
    count_ = ranks_.size();
  }

  Rank rank_of(std::size_t index) const { return ranks_.empty() ? static_cast<Rank>(index) : ranks_[index]; }

  // Draws uniformly among those that are not excluded.
  std::size_t draw_index(Random& random) const {
    std::size_t index = random.below(count_ - out_.size());
    for (const std::size_t taken : out_) {
      if (taken <= index) ++index;
    }
    return index;
  }

  const coordination::Graph* graph_ = nullptr;  // null: everybody asks anybody
  Rank self_ = 0;
  std::size_t lost_count_ = 0;  // that the graph has closed over
  std::set<Rank> finished_;
  Group ranks_;  // empty: 0, 1, 2, ...
  std::size_t count_ = 0;
  std::set<std::size_t> out_;  // by index
};

// Begins an exchange with each step.
class Asking final : public StepListener {
 public:
  Asking(Worker& self, PairExchange& exchange, Candidates candidates, runtime::Scope& scope)
      : self_(self), exchange_(exchange), candidates_(std::move(candidates)), scope_(scope) {}

  bool by_section() const override { return false; }

  void begins() override {
    exchange_.computing();
    if (const std::optional<Rank> partner = candidates_.draw(self_)) {
      scope_.spawn(ask(*partner), concat("exchange with worker ", *partner));
    }
  }

 private:
  Task<> ask(Rank partner) {
    const bool takes_part = co_await exchange_.with(partner);
    if (!takes_part) candidates_.remove(partner);
  }

  Worker& self_;
  PairExchange& exchange_;
  Candidates candidates_;
  runtime::Scope& scope_;
};

}  // namespace

Adpsgd::Adpsgd(const Options& options, int workers)
    : any_(options.text("graph") == "any"),
      graph_(coordination::bipartite_exponential_graph(any_ ? 1 : workers)) {}

Task<> Adpsgd::run(Worker& self) const {
  const Rank rank = self.rank();
  const auto exchange = std::make_shared<PairExchange>(self);
  if ((answers(rank) || self.membership() != nullptr) && self.workers() > 1) {
    self.beside(PairExchange::answer(exchange), "answers to other workers");
  }
  runtime::Scope scope(co_await runtime::this_context());
  Asking asking(self, *exchange, any_ ? Candidates(self.workers(), rank) : Candidates(graph_, rank), scope);
  StepPlan plan;
  plan.listener = &asking;
  for (;;) {
    const bool more = co_await self.compute(plan);
    exchange->computed();
    co_await scope.join();
    if (!more) break;
    co_await exchange->step();
  }
  co_await exchange->finish();
}

StrategyEntry adpsgd_row() {
  return {
      .name = "adpsgd",
      .summary = "models are averaged with one random other worker at a time, while the gradient is computed",
      .options = {OptionSpec::choice("graph", {"bipartite", "any"},
                                     "bipartite: even ranks ask odd ones, on an exponential graph; any: "
                                     "everybody asks anybody")},
      .promises = {.on_loss = OnLoss::kGoesOn,
                   .conserves_mean = true,
                   .staleness = "what exchanges bring in during a step, no bound",
                   .steps = "each worker makes its own",
                   .waits_for = "one exchange, every step; never for somebody's computing",
                   .bytes = "on average M with bipartite, 2 M with any"},
      .make = make<Adpsgd>,
      .bytes_sent = [](const Options&, const Shape&, Rank) { return std::optional<std::uint64_t>(); },
      .variants = {{}, {{"graph", "any"}}},
  };
}

}  // namespace starling::strategy
