#include "starling/strategy/compressed/gathered_mean.h"

#include <algorithm>
#include <cstring>

#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

namespace {

// The same on all workers, for codes that draw places.
constexpr std::uint64_t kCommonSeed = 0x73746172;

}  // namespace

GatheredMean::GatheredMean(Worker& self, AgreedExchange& agreed, const compression::Rule& rule,
                           const compression::Layout& layout)
    : self_(self), agreed_(agreed), compressor_(make_compressor(rule, layout, kCommonSeed)) {
  const std::size_t bytes = sizeof(double) + compressor_->code_bytes();
  own_ = self.allocate((bytes + sizeof(float) - 1) / sizeof(float));
}

Task<> GatheredMean::form(Data meant, double weight, std::uint64_t number, Data mean) {
  const std::span<std::byte> own = own_.data.span();
  if (!mean.ghost()) {
    const Stopwatch watch(self_, record::Activity::kCode);
    std::memset(own.data(), 0, own.size());
    std::memcpy(own.data(), &weight, sizeof weight);
    const std::span<std::byte> code = own.subspan(sizeof weight, compressor_->code_bytes());
    if (weight > 0) {
      compressor_->encode(floats(meant), number, code);
      compressor_->add(code, number, -1, floats(meant));
    }
  }
  co_await agreed_.in_order(
      mean, [this, number, mean](const ExchangeTerms& terms, Tag) { return exchange(terms, number, mean); });
}

Task<> GatheredMean::exchange(const ExchangeTerms& terms, std::uint64_t number, Data mean) {
  const Group& group = terms.group;
  const std::size_t slot = own_.data.count;
  if (all_.data.count != group.size() * slot) all_ = self_.allocate(group.size() * slot);
  const std::size_t index = collective::index_in(group, self_.rank());
  copy(own_.data, all_.data.part(index * slot, (index + 1) * slot));
  const Tag tag = tag_in(terms.epoch, Channel::kCodes, number);
  const Stopwatch watch(self_, record::Activity::kMeet, record::kNobody, meeting_of(group, tag));
  co_await collective::all_gather(self_.net(), terms.group, all_.data, tag);
  if (!mean.ghost()) add_all(number, mean);
}

// In the order of the members, so that all have the same bits.
void GatheredMean::add_all(std::uint64_t number, Data mean) const {
  const Stopwatch watch(self_, record::Activity::kCode);
  const std::size_t slot = own_.data.size();
  const std::span<const std::byte> all = all_.data.span();
  std::vector<double> weights(all.size() / slot);
  double sum = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::memcpy(&weights[i], all.data() + i * slot, sizeof(double));
    sum += weights[i];
  }
  std::ranges::fill(floats(mean), 0.0F);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] == 0) continue;
    const std::span<const std::byte> code = all.subspan(i * slot + sizeof(double), compressor_->code_bytes());
    compressor_->add(code, number, static_cast<float>(weights[i] / sum), floats(mean));
  }
}

}  // namespace starling::strategy
