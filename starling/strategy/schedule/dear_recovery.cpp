// What the workers of DeAR do when one of them is lost; dear_schedule.h has the rules.
#include <algorithm>

#include "starling/core/byte_codec.h"
#include "starling/strategy/schedule/dear_schedule.h"

namespace starling::strategy {

using collective::Reduction;

namespace {

// Lanes of the exchanges of a completion: behind those of the transfers.
constexpr AgreedExchange::Lane kCompletionLanes = AgreedExchange::Lane{1} << 28;

}  // namespace

Bytes DearSchedule::report() {
  ByteWriter writer = ByteWriter::message();
  writer.put(round()).put(plans_).put(begun_completions());
  writer.put(squares_.has_value());
  if (squares_) {
    writer.put(squares_->gradient).put<std::uint64_t>(squares_->tensors.size());
    for (const double sum : squares_->tensors) writer.put(sum);
  }
  const bool none = opening();
  writer.put<std::uint64_t>(none ? 0 : reduced_.size());
  for (std::size_t b = 0; b < reduced_.size() && !none; ++b) writer.put<bool>(reduced_[b]);
  return writer.take();
}

DearSchedule::Status DearSchedule::status_from(const Bytes& bytes, Rank from) {
  ByteReader reader = ByteReader::message(bytes, concat("a report on buckets from rank ", from));
  Status status;
  status.round = reader.get<std::uint64_t>();
  status.plans = reader.get<std::uint64_t>();
  status.completions = reader.get<std::uint64_t>();
  if (reader.get<bool>()) {
    status.squares = Squares{.gradient = reader.get<double>(), .tensors = {}};
    const auto sums = reader.get<std::uint64_t>();
    if (sums > reader.left() / sizeof(double)) reader.refuse(concat(sums, " sums of squares"));
    for (std::uint64_t i = 0; i < sums; ++i) status.squares->tensors.push_back(reader.get<double>());
  }
  const auto count = reader.get<std::uint64_t>();
  if (count != reader.left()) reader.refuse(concat(count, " buckets"));
  for (std::uint64_t b = 0; b < count; ++b) status.reduced.push_back(reader.get<bool>());
  return status;
}

// A completion that another loss has interrupted is carried out first: a member may have done so before. But
// if a member has not begun it, because it did not get all reports, then nothing of it has taken place
// anywhere: all members take part in every exchange of it. Then it is planned anew.
Task<> DearSchedule::recover(const membership::Reports& reports, const ExchangeTerms& terms) {
  const auto lacks_it = [&](const auto& report) {
    return status_from(report.second, report.first).completions < begun_completions();
  };
  if (completion_ && std::any_of(reports.begin(), reports.end(), lacks_it)) completion_.reset();
  if (completion_) co_await carry_out(terms);
  if (partition_.ranks() == terms.group.ranks()) co_return;
  completion_ = plan_completion(reports, terms);
  co_await carry_out(terms);
}

// If a member has reduced a bucket that nobody has gathered, all members are in the same round: it has begun
// the bucket's exchange with all of them. If members use different plans, the state of the optimiser was
// gathered for the newer one, and all have it.
DearSchedule::Completion DearSchedule::plan_completion(const membership::Reports& reports,
                                                       const ExchangeTerms& terms) {
  Completion next{.members = terms.group, .owners = {}, .buckets = {}, .squares = {}};
  std::uint64_t last = 0;
  bool same_plan = true;
  for (const Rank rank : partition_.ranks()) {
    const auto found = reports.find(rank);
    Status& status = next.owners.emplace_back();
    status.lost = found == reports.end();
    if (!status.lost) status = status_from(found->second, rank);
    last = std::max(last, status.round);
    if (!status.lost) same_plan &= status.plans == plans_;
    if (status.squares && status.round == round()) {
      next.updates = true;
      next.squares = *status.squares;
    }
  }
  next.gathers_state = weights_ && same_plan;
  next.updates |= weights_ && !needs_squares();
  for (std::size_t b = 0; b < buckets().size() && !opening() && last == round(); ++b) {
    if (whole(b) || recovered_[b] || agreed().completed(lane_of(jobs() - 1 - b), round())) continue;
    const auto has_reduced = [&](const Status& status) {
      return status.round == last && b < status.reduced.size() && status.reduced[b];
    };
    if (std::any_of(next.owners.begin(), next.owners.end(), has_reduced)) next.buckets.push_back(b);
  }
  return next;
}

Task<> DearSchedule::carry_out(const ExchangeTerms& terms) {
  if (completion_->gathers_state) co_await gather_state_of_the_living(terms);
  if (!completion_->buckets.empty() && completion_->updates) advance_by(completion_->squares);
  for (const std::size_t bucket : completion_->buckets) {
    if (finished_.count(bucket) == 0) co_await complete_bucket(bucket, terms);
    finished_.insert(bucket);
  }
  // Nobody goes on before all know what to complete.
  co_await sum_up(Part::kEnd, 0, {}, Reduction::sum(), terms);
  partition_ = completion_->members;
  completion_.reset();
  ++completions_;
  sums_.clear();
  finished_.clear();
  if (needs_squares() && !opening()) find_squares_if_all_reduced();
}

// The sum of what each has, or of nothing: each element has one owner.
Task<> DearSchedule::gather_state_of_the_living(const ExchangeTerms& terms) {
  if (self().parameters().ghost()) co_return;
  const std::vector<std::span<float>> vectors = optimizer_->state();
  for (std::size_t v = 0; v < vectors.size(); ++v) {
    for (std::size_t b = 0; b < plan_in_use_.size(); ++b) {
      if (whole(plan_in_use_, b)) continue;
      const Data vector{vectors[v]};
      const Slice part = plan_in_use_[b].elements;
      const Data own_state = owned(part, vector, true);
      const Data sum =
          co_await sum_up(Part::kState, v * plan_in_use_.size() + b, own_state, Reduction::sum(), terms);
      copy(sum, vector.part(part.begin, part.end));
    }
  }
}

DearSchedule::Part DearSchedule::part_for(std::size_t owner, std::size_t bucket) const {
  const Status& status = completion_->owners[owner];
  if (status.lost || bucket >= status.reduced.size() || !status.reduced[bucket]) return Part::kLocal;
  const bool updated = weights_ && (status.squares || !needs_squares());
  return updated ? Part::kParameters : Part::kReduced;
}

// Zeros, with this worker's slice of the elements in its place, if it has it.
Data DearSchedule::owned(Slice elements, Data values, bool has) {
  if (values.ghost()) return values.part(elements.begin, elements.end);
  scratch_.assign(elements.size(), 0);
  const Slice slice = this->slice(elements, collective::index_in(partition_, self().rank()));
  const auto place = [](auto begin, std::size_t at) { return begin + static_cast<std::ptrdiff_t>(at); };
  if (has) {
    std::copy_n(place(floats(values).begin(), slice.begin), slice.size(),
                place(scratch_.begin(), slice.begin - elements.begin));
  }
  return Data{std::span<float>(scratch_)};
}

// What this worker contributes: for the mean all of it, otherwise only what it owns.
Data DearSchedule::own_part(Part part, std::size_t bucket, Data values) {
  const Slice elements = buckets()[bucket].elements;
  if (part == Part::kLocal) return values.part(elements.begin, elements.end);
  return owned(elements, values, part_for(collective::index_in(partition_, self().rank()), bucket) == part);
}

Task<> DearSchedule::complete_bucket(std::size_t bucket, const ExchangeTerms& terms) {
  for (const Part part : {Part::kParameters, Part::kReduced, Part::kLocal}) {
    std::vector<std::size_t> owners;
    for (std::size_t owner = 0; owner < partition_.size(); ++owner) {
      if (part_for(owner, bucket) == part) owners.push_back(owner);
    }
    if (owners.empty()) continue;
    const Data values = part == Part::kParameters ? self().parameters() : self().gradients();
    const Reduction reduction = part == Part::kLocal ? how() : Reduction::sum();
    const Data sum = co_await sum_up(part, bucket, own_part(part, bucket, values), reduction, terms);
    if (sum.ghost()) continue;
    const std::size_t begin = buckets()[bucket].elements.begin;
    for (const std::size_t owner : owners) {
      const Slice place = slice(bucket, owner);
      copy(sum.part(place.begin - begin, place.end - begin), values.part(place.begin, place.end));
      if (part == Part::kParameters || !completion_->updates) continue;
      optimizer_->apply(place, floats(self().parameters()), floats(self().gradients()));
    }
  }
  finish_bucket(bucket);
}

// All have its parameters, or its mean gradient. Only if the norms for the update are still to be found, the
// bucket goes on its way, as if its gradients had just been reduced.
void DearSchedule::finish_bucket(std::size_t bucket) {
  reduced_[bucket] = true;
  transfers().skip(bucket);
  if (weights_ && !completion_->updates) return;
  recovered_[bucket] = true;
  arrive(bucket);
  transfers().skip(jobs() - 1 - bucket);
}

// The sum lasts as long as the completion: it may be given to this worker after another loss.
Task<Data> DearSchedule::sum_up(Part part, std::size_t which, Data data, Reduction how,
                                const ExchangeTerms& terms) {
  constexpr AgreedExchange::Lane kMost = AgreedExchange::Lane{1} << 24;  // of a part
  const AgreedExchange::Lane lane = kCompletionLanes + static_cast<AgreedExchange::Lane>(part) * kMost +
                                    static_cast<AgreedExchange::Lane>(which);
  Buffer& sum = sums_[lane];
  if (sum.data.count != data.count) sum = self().allocate(data.count);
  if (!agreed().completed(lane, completions_)) copy(data, sum.data);
  const Tag tag = tag_in(terms.epoch, Channel::kAgreed, (std::uint64_t{1} << 39) | lane);
  co_await agreed().recover_by(terms, lane, completions_, sum.data, [&](const ExchangeTerms& now) {
    return collective::all_reduce(self().net(), now.group, sum.data, how, tag);
  });
  co_return sum.data;
}

}  // namespace starling::strategy
