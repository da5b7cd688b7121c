#include "starling/strategy/compressed/dense_mean.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "starling/collective/guard.h"
#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

constexpr std::size_t kWeightFloats = sizeof(double) / sizeof(float);

std::size_t floats_for(std::size_t bytes) { return (bytes + sizeof(float) - 1) / sizeof(float); }

void fill_with_zeros(std::span<std::byte> bytes) { std::ranges::fill(bytes, std::byte{0}); }

}  // namespace

DenseMean::DenseMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
                     const compression::Layout& layout, const std::string& name)
    : self_(self), agreed_(agreed), rule_(rule), left_out_(self.allocate(compression::elements_of(layout))) {
  if (left_out_.data.ghost()) return;
  std::ranges::fill(floats(left_out_.data), 0.0F);
  self.keep(concat("left out of the mean", name), left_out_.data.span());
}

Task<> DenseMean::form(Data meant, double weight, std::uint64_t number, Data mean) {
  Round round{.meant = meant, .weight = weight, .number = number, .mean = mean};
  co_await agreed_.in_order(
      mean, [this, &round](const ExchangeTerms& terms, Tag tag) { return exchange(terms, tag, round); });
  if (!mean.ghost()) forget_sent(last_);
}

// Has no effect that a repetition would not have: what is left of this worker's vector is known afterwards.
Task<> DenseMean::exchange(const ExchangeTerms& terms, Tag tag, Round round) {
  round.group = terms.group;
  round.index = collective::index_in(round.group, self_.rank());
  last_ = round;
  make_room(round);
  if (!round.meant.ghost()) encode_own(round);
  const Stopwatch watch(self_, record::Activity::kMeet, record::kNobody, meeting_of(round.group, tag));
  Task<> swap = swap_slices(round, tag);
  co_await collective::guarded(self_.net(), round.group, std::move(swap));
  if (!round.meant.ghost()) form_own_slice(round);
  const collective::SharedGroup group = round.group;
  co_await collective::all_gather(self_.net(), group, result_.data,
                                  tag_in(terms.epoch, Channel::kCodes, round.number));
  if (!round.meant.ghost()) decode_all(round);
}

// Slots for the largest slice's code, so that all are at places that everybody knows.
void DenseMean::make_room(const Round& round) {
  const std::size_t members = round.group.size();
  slot_ = floats_for(compressor(round, 0, 0)->code_bytes());
  const std::size_t message = slot_ + kWeightFloats;
  const bool same_group = outgoing_.data.count == members * message && result_.data.count == members * slot_;
  if (same_group && own_mean_.data.count == round.slice(0).size()) return;
  outgoing_ = self_.allocate(members * message);
  incoming_ = self_.allocate(members * message);
  result_ = self_.allocate(members * slot_);
  own_mean_ = self_.allocate(round.slice(0).size());
}

// What different workers, and different slices, draw at random is independent.
std::unique_ptr<compression::Compressor> DenseMean::compressor(const Round& round, std::size_t slice,
                                                               Rank from) const {
  const std::uint64_t seed = (static_cast<std::uint64_t>(from) + 1) << 32 | slice;
  return make_compressor(rule_, compression::plain_layout(round.slice(slice).size()), seed);
}

std::span<std::byte> DenseMean::place(const Buffer& buffer, std::size_t i, bool weighted) const {
  const std::size_t size = slot_ + (weighted ? kWeightFloats : 0);
  return buffer.data.part(i * size, (i + 1) * size).span();
}

void DenseMean::encode_own(const Round& round) {
  const Stopwatch watch(self_, record::Activity::kCode);
  for (std::size_t i = 0; i < round.group.size(); ++i) {
    const std::span<std::byte> message = place(outgoing_, i, true);
    fill_with_zeros(message);
    std::memcpy(message.data(), &round.weight, sizeof round.weight);
    if (round.weight == 0) continue;
    const auto coder = compressor(round, i, self_.rank());
    coder->encode(round.of(round.meant, i), round.number,
                  message.subspan(sizeof(double), coder->code_bytes()));
  }
  const std::span<std::byte> own = place(outgoing_, round.index, true);
  std::memcpy(place(incoming_, round.index, true).data(), own.data(), own.size());
}

Task<> DenseMean::swap_slices(const Round& round, Tag tag) {
  std::deque<transport::Receiving> received;
  std::deque<transport::Sending> sent;
  for (std::size_t i = 0; i < round.group.size(); ++i) {
    if (i == round.index) continue;
    received.emplace_back(self_.net(), round.group[i], tag, place(incoming_, i, true));
    sent.emplace_back(self_.net(), round.group[i], tag, place(outgoing_, i, true));
  }
  for (transport::Receiving& one : received) co_await one;
  for (transport::Sending& one : sent) co_await one;
}

// In the order of the members. If none has a weight, the mean is what was left out of the last.
void DenseMean::form_own_slice(const Round& round) {
  const Stopwatch watch(self_, record::Activity::kCode);
  const std::span<float> mean = floats(own_mean_.data).first(round.slice(round.index).size());
  std::ranges::fill(mean, 0.0F);
  double all = 0;
  std::vector<double> weights(round.group.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::memcpy(&weights[i], place(incoming_, i, true).data(), sizeof(double));
    all += weights[i];
  }
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const auto coder = compressor(round, round.index, round.group[i]);
    const std::span<const std::byte> code =
        place(incoming_, i, true).subspan(sizeof(double), coder->code_bytes());
    coder->add(code, round.number, static_cast<float>(weights[i] / all), mean);
  }
  const std::span<const float> left_out = round.of(left_out_.data, round.index);
  for (std::size_t k = 0; k < mean.size(); ++k) mean[k] += left_out[k];
  const auto coder = compressor(round, round.index, self_.rank());
  const std::span<std::byte> code = place(result_, round.index, false);
  fill_with_zeros(code);
  coder->encode(mean, round.number, code.first(coder->code_bytes()));
  coder->add(code.first(coder->code_bytes()), round.number, -1, mean);
}

void DenseMean::decode_all(const Round& round) {
  const Stopwatch watch(self_, record::Activity::kCode);
  for (std::size_t i = 0; i < round.group.size(); ++i) {
    const auto coder = compressor(round, i, round.group[i]);
    coder->decode(place(result_, i, false).first(coder->code_bytes()), round.number, round.of(round.mean, i));
  }
}

// Only the owner of a slice knows what was left out of its mean.
void DenseMean::forget_sent(const Round& round) {
  const Stopwatch watch(self_, record::Activity::kCode);
  std::ranges::fill(floats(left_out_.data), 0.0F);
  std::ranges::copy(floats(own_mean_.data).first(round.slice(round.index).size()),
                    round.of(left_out_.data, round.index).begin());
  if (round.weight == 0) return;
  for (std::size_t i = 0; i < round.group.size(); ++i) {
    const auto coder = compressor(round, i, self_.rank());
    const std::span<const std::byte> code =
        place(outgoing_, i, true).subspan(sizeof(double), coder->code_bytes());
    coder->add(code, round.number, -1, round.of(round.meant, i));
  }
}

}  // namespace starling::strategy
