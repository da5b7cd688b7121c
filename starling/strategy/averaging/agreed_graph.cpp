#include "starling/strategy/averaging/agreed_graph.h"

#include <algorithm>
#include <map>
#include <utility>

#include "starling/core/byte_codec.h"
#include "starling/runtime/event.h"

namespace starling::strategy {

using coordination::Graph;

namespace {

struct GraphReport {
  std::uint64_t begun = 0;
  std::map<std::uint64_t, Group> changes;  // who is lost, by the first step without them
};

Bytes to_bytes(const GraphReport& report) {
  ByteWriter writer = ByteWriter::message();
  writer.put(report.begun).put<std::uint64_t>(report.changes.size());
  for (const auto& [first_step, lost] : report.changes) {
    writer.put(first_step).put<std::uint64_t>(lost.size());
    for (const Rank rank : lost) writer.put(rank);
  }
  return writer.take();
}

GraphReport graph_report_from(const Bytes& bytes, Rank from) {
  ByteReader reader = ByteReader::message(bytes, concat("a report on steps from rank ", from));
  GraphReport report;
  report.begun = reader.get<std::uint64_t>();
  for (auto changes = reader.get<std::uint64_t>(); changes > 0; --changes) {
    Group& lost = report.changes[reader.get<std::uint64_t>()];
    for (auto count = reader.get<std::uint64_t>(); count > 0; --count) lost.push_back(reader.get<Rank>());
  }
  reader.expect_end();
  return report;
}

Group lost_ranks(const Group& members, int workers) {
  Group lost;
  for (Rank rank = 0; rank < workers; ++rank) {
    if (!membership::contains(members, rank)) lost.push_back(rank);
  }
  return lost;
}

}  // namespace

struct AgreedGraph::State {
  State(Worker& worker, const Graph& graph) : self(worker), views(*worker.membership()), whole(graph) {}

  void add(std::uint64_t first_step, const Group& lost);
  const Graph& of(std::uint64_t step) const;
  void settle(const membership::Reports& reports, const membership::View& view);
  static Task<> answer(std::shared_ptr<State> state);

  Worker& self;
  membership::Membership& views;
  Graph whole;
  GraphReport own;
  std::map<std::uint64_t, Graph> graphs;  // of the changes
  std::uint64_t settled = 1;              // the epoch whose graph is known
  runtime::Event settlement{"agreement on the neighbours without a lost worker"};
};

// Views only shrink: of two changes at the same step the one that lost more is the later one.
void AgreedGraph::State::add(std::uint64_t first_step, const Group& lost) {
  Group& known = own.changes[first_step];
  if (known.size() >= lost.size()) return;
  known = lost;
  graphs.insert_or_assign(first_step, coordination::without_lost(whole, lost));
}

// A later view may hold from an earlier step on, if those that had got furthest are lost.
const Graph& AgreedGraph::State::of(std::uint64_t step) const {
  const Graph* latest = &whole;
  std::size_t most_lost = 0;
  for (const auto& [first_step, lost] : own.changes) {
    if (first_step > step || lost.size() <= most_lost) continue;
    most_lost = lost.size();
    latest = &graphs.at(first_step);
  }
  return *latest;
}

void AgreedGraph::State::settle(const membership::Reports& reports, const membership::View& view) {
  std::uint64_t begun = 0;
  for (const auto& [rank, bytes] : reports) {
    const GraphReport report = graph_report_from(bytes, rank);
    begun = std::max(begun, report.begun);
    for (const auto& [first_step, lost] : report.changes) add(first_step, lost);
  }
  add(begun + 1, lost_ranks(view.members, self.workers()));
  settled = view.epoch;
  settlement.pulse();
}

// Runs beside the strategy.
Task<> AgreedGraph::State::answer(std::shared_ptr<State> state) {
  membership::Membership& views = state->views;
  for (;;) {
    while (views.view().epoch == state->settled) co_await views.changes();
    const membership::View view = views.view();
    const auto reports = co_await views.exchange_reports(view.epoch, to_bytes(state->own));
    if (reports) state->settle(*reports, view);
  }
}

AgreedGraph::AgreedGraph(Worker& self, const Graph& graph) : whole_(graph) {
  if (self.membership() == nullptr) return;
  state_ = std::make_shared<State>(self, graph);
  self.beside(State::answer(state_), "agreement on neighbours");
}

Task<> AgreedGraph::begin(std::uint64_t step) {
  if (!state_) co_return;
  while (state_->views.view().epoch != state_->settled) co_await state_->settlement;
  state_->own.begun = step;
}

const Graph& AgreedGraph::of(std::uint64_t step) const { return state_ ? state_->of(step) : whole_; }

}  // namespace starling::strategy
