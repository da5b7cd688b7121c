#include "starling/strategy/agreed_exchange.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "starling/collective/direct.h"
#include "starling/core/byte_codec.h"
#include "starling/core/error.h"
#include "starling/runtime/scope.h"

namespace starling::strategy {

using membership::Reports;

namespace {

struct LaneReport {
  std::map<AgreedExchange::Lane, std::uint64_t> completed;
  Bytes rest;  // of the strategy
};

LaneReport lane_report_from(const Bytes& bytes, Rank from) {
  ByteReader reader = ByteReader::message(bytes, concat("a report on exchanges from rank ", from));
  LaneReport report;
  for (auto lanes = reader.get<std::uint64_t>(); lanes > 0; --lanes) {
    const auto lane = reader.get<AgreedExchange::Lane>();
    report.completed[lane] = reader.get<std::uint64_t>();
  }
  const auto rest = reader.rest();
  report.rest.assign(rest.begin(), rest.end());
  return report;
}

}  // namespace

struct AgreedExchange::State {
  struct LaneState {
    std::uint64_t completed = 0;
    bool common = true;           // all members have the same result
    std::optional<Data> wanted;   // an attempt waits for the result
    std::vector<std::byte> kept;  // the last result
    std::size_t kept_bytes = 0;   // also of a ghost
  };

  // An exchange under way.
  class Flight {
   public:
    explicit Flight(State& state) : state_(state) { ++state_.in_flight; }
    ~Flight() {
      if (--state_.in_flight == 0) state_.idle.pulse();
    }
    Flight(const Flight&) = delete;
    Flight& operator=(const Flight&) = delete;

   private:
    State& state_;
  };

  State(Worker& worker, bool keeps_results)
      : self(worker), views(*worker.membership()), keeps(keeps_results) {}

  void complete(LaneState& lane, std::uint64_t number, Data result);
  Bytes report();
  Task<> recover(const Reports& reports, const ExchangeTerms& terms);
  Task<> give(LaneState& lane, Rank to, Tag tag);
  Task<> take(LaneState& lane, std::uint64_t number, Rank from, Tag tag);
  static Task<> answer(std::shared_ptr<State> state);

  Worker& self;
  membership::Membership& views;
  bool keeps;
  Recovery* recovery = nullptr;
  std::map<Lane, LaneState> lanes;
  int in_flight = 0;
  std::uint64_t settled = 1;  // the epoch about whose beginning all agree
  runtime::Event idle{"the end of exchanges with a lost worker"};
  runtime::Event settlement{"agreement on the last exchange with a lost worker"};
};

void AgreedExchange::State::complete(LaneState& lane, std::uint64_t number, Data result) {
  lane.completed = number;
  lane.kept_bytes = result.size();
  if (keeps && !result.ghost()) lane.kept.assign(result.span().begin(), result.span().end());
}

Bytes AgreedExchange::State::report() {
  ByteWriter writer = ByteWriter::message();
  const auto common = [](const auto& lane) { return lane.second.common; };
  writer.put<std::uint64_t>(static_cast<std::uint64_t>(std::count_if(lanes.begin(), lanes.end(), common)));
  for (const auto& [lane, state] : lanes) {
    if (state.common) writer.put(lane).put(state.completed);
  }
  if (recovery != nullptr) writer.put_raw(recovery->report());
  return writer.take();
}

Task<> AgreedExchange::State::give(LaneState& lane, Rank to, Tag tag) {
  const std::byte* const data = lane.kept.empty() ? nullptr : lane.kept.data();
  co_await self.net().send(to, tag, std::span<const std::byte>(data, lane.kept_bytes));
}

Task<> AgreedExchange::State::take(LaneState& lane, std::uint64_t number, Rank from, Tag tag) {
  if (!lane.wanted) throw Error(concat("rank ", self.rank(), " is given a result that it has not asked for"));
  co_await self.net().recv(from, tag, lane.wanted->span());
  complete(lane, number, *lane.wanted);
}

Task<> AgreedExchange::State::recover(const Reports& reports, const ExchangeTerms& terms) {
  std::map<Rank, LaneReport> all;
  std::map<Lane, std::uint64_t> last;
  Reports rest;
  for (const auto& [rank, bytes] : reports) {
    all[rank] = lane_report_from(bytes, rank);
    rest[rank] = all[rank].rest;
    for (const auto& [lane, number] : all[rank].completed) last[lane] = std::max(last[lane], number);
  }
  runtime::Scope scope(co_await runtime::this_context());
  for (const auto& [lane, number] : last) {
    if (number == 0) continue;
    const auto has = [&, lane = lane, number = number](Rank rank) {
      const auto& completed = all.at(rank).completed;
      const auto found = completed.find(lane);
      return found != completed.end() && found->second == number;
    };
    const Group& members = terms.group;
    const Rank giver = *std::find_if(members.begin(), members.end(), has);
    const Tag tag = tag_in(terms.epoch, Channel::kGive, lane);
    for (const Rank rank : members) {
      if (has(rank)) continue;
      if (self.rank() == giver) scope.spawn(give(lanes[lane], rank, tag), concat("result for rank ", rank));
      if (self.rank() == rank)
        scope.spawn(take(lanes[lane], number, giver, tag), concat("result of rank ", giver));
    }
  }
  co_await scope.join();
  if (recovery != nullptr) {
    Task<> further = recovery->recover(rest, terms);
    co_await further;
  }
}

// Runs beside the strategy, and after it has ended: others may not have all results yet.
Task<> AgreedExchange::State::answer(std::shared_ptr<State> state) {
  membership::Membership& views = state->views;
  for (;;) {
    while (views.view().epoch == state->settled) co_await views.changes();
    const ExchangeTerms terms{views.members(), views.view().epoch};
    while (state->in_flight > 0) co_await state->idle;
    std::optional<Reports> reports = co_await views.exchange_reports(terms.epoch, state->report());
    if (!reports) continue;
    bool lost = false;
    try {
      co_await state->recover(*reports, terms);
    } catch (const PeerLost&) {
      lost = true;
    }
    while (lost && views.view().epoch == terms.epoch) co_await views.changes();
    if (views.view().epoch != terms.epoch) continue;
    state->settled = terms.epoch;
    state->settlement.pulse();
  }
}

AgreedExchange::AgreedExchange(Worker& self, collective::Choice algorithm) : self_(self) {
  if (self.membership() == nullptr) return;
  const bool direct = algorithm.value_or(collective::Algorithm::kDirect) == collective::Algorithm::kDirect &&
                      collective::direct_possible(self.net(), self.everyone());
  state_ = std::make_shared<State>(self, !direct);
  self.beside(State::answer(state_), "agreement on exchanges");
}

AgreedExchange::~AgreedExchange() {
  if (state_) state_->recovery = nullptr;
}

void AgreedExchange::set_recovery(Recovery& recovery) {
  if (state_) state_->recovery = &recovery;
}

bool AgreedExchange::in_force(std::uint64_t epoch) const {
  return !state_ || (state_->settled == epoch && state_->views.view().epoch == epoch);
}

Task<> AgreedExchange::end_of(std::uint64_t epoch) {
  while (!state_ || state_->views.view().epoch == epoch) {
    co_await state_->views.changes();
  }
}

Task<ExchangeTerms> AgreedExchange::terms() {
  if (!state_) co_return ExchangeTerms{self_.everyone(), 1};
  while (!in_force(state_->views.view().epoch)) co_await state_->settlement;
  co_return ExchangeTerms{state_->views.members(), state_->settled};
}

Task<bool> AgreedExchange::attempt(const ExchangeTerms& given, Lane number_of_lane, std::uint64_t number,
                                   std::optional<Data> result, Work work) {
  const ExchangeTerms terms = given;
  if (!state_) {
    Task<> exchange = work(terms);
    co_await exchange;
    co_return true;
  }
  if (!in_force(terms.epoch)) co_return false;
  State::LaneState& lane = state_->lanes[number_of_lane];
  lane.common = result.has_value();
  lane.wanted = result;
  try {
    const State::Flight flight(*state_);
    Task<> exchange = work(terms);
    co_await exchange;
    state_->complete(lane, number, result.value_or(Data()));
  } catch (const PeerLost&) {  // NOLINT(bugprone-empty-catch): the others say whether it took place
  }
  while (lane.completed < number && state_->settled <= terms.epoch) co_await state_->settlement;
  lane.wanted.reset();
  co_return lane.completed >= number;
}

bool AgreedExchange::completed(Lane lane, std::uint64_t number) const {
  const auto found = state_->lanes.find(lane);
  return found != state_->lanes.end() && found->second.completed >= number;
}

Task<> AgreedExchange::recover_by(const ExchangeTerms& terms, Lane number_of_lane, std::uint64_t number,
                                  Data result, Work work) {
  State::LaneState& lane = state_->lanes[number_of_lane];
  if (lane.completed >= number) co_return;
  lane.wanted = result;
  Task<> exchange = work(terms);
  co_await exchange;
  state_->complete(lane, number, result);
  lane.wanted.reset();
}

Task<> AgreedExchange::in_lane(Lane lane, Data result, TaggedWork work) {
  const std::uint64_t number = ++made_[lane];
  const auto tagged = [&](const ExchangeTerms& terms) {
    return work(terms, tag_in(terms.epoch, Channel::kAgreed, number));
  };
  for (;;) {
    const ExchangeTerms terms = co_await this->terms();
    if (co_await attempt(terms, lane, number, result, tagged)) co_return;
  }
}

Task<> AgreedExchange::all_reduce(Data data, collective::Reduction how, collective::Choice choice) {
  return in_order(data, [this, data, how, choice](const ExchangeTerms& terms, Tag tag) {
    return collective::all_reduce(self_.net(), terms.group, data, how, tag, choice);
  });
}

Task<> AgreedExchange::noted_all_reduce(Channel channel, std::uint64_t round, Data data,
                                        collective::Reduction how, collective::Choice choice) {
  return in_order(data, [this, channel, round, data, how, choice](const ExchangeTerms& terms, Tag) {
    return strategy::all_reduce(self_, terms.group, data, how, tag_in(terms.epoch, channel, round), choice);
  });
}

Task<> AgreedExchange::barrier() {
  return in_order({}, [this](const ExchangeTerms& terms, Tag tag) {
    return collective::barrier(self_.net(), terms.group, tag);
  });
}

Task<> AgreedExchange::finish() {
  if (state_) co_await barrier();
}

}  // namespace starling::strategy
