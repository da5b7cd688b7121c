#include "starling/strategy/averaging/fragment_average.h"

#include <algorithm>
#include <utility>

#include "starling/core/text.h"
#include "starling/strategy/timed_exchange.h"

namespace starling::strategy {

using collective::Reduction;

// A section belongs to the fragment in which its middle lies.
Slice fragment_of(const std::vector<Section>& sections, std::size_t fragments, std::size_t index) {
  const std::size_t count = sections.empty() ? 0 : sections.back().offset + sections.back().count;
  Slice fragment{count, count};
  for (const Section& section : sections) {
    const std::size_t twice_middle = 2 * section.offset + section.count;
    if (std::min(twice_middle * fragments / (2 * count), fragments - 1) != index) continue;
    fragment.begin = std::min(fragment.begin, section.offset);
    fragment.end = section.offset + section.count;
  }
  return fragment.begin == count ? Slice{} : fragment;
}

FragmentAverage::FragmentAverage(Worker& self, AgreedExchange& agreed, const runtime::Context& context,
                                 const FragmentRules& rules)
    : self_(self), agreed_(agreed), rules_(rules), scope_(context) {
  std::size_t largest = 0;
  for (std::size_t i = 0; i < rules.fragments; ++i) {
    const bool whole = rules.fragments == 1;
    parts_.push_back(whole ? Slice{0, self.parameters().count}
                           : fragment_of(self.sections(), rules.fragments, i));
    largest = std::max(largest, parts_.back().size());
    if (rules.outer) outer_.emplace_back(self, *rules.outer, parts_.back(), std::to_string(i));
  }
  self.keep("fragment", bytes_of(turn_));
  if (rules.compression && self.workers() > 1) prepare_codes();
  if (rules.delay == 0 && rules.mix == 0) return;
  copy_ = self.allocate(largest);
  if (!copy_.data.ghost()) self.keep("fragment under way", copy_.data.span());
}

// The sections of a fragment, from its begin on.
void FragmentAverage::prepare_codes() {
  for (std::size_t i = 0; i < parts_.size(); ++i) {
    compression::Layout layout;
    for (compression::TensorShape& tensor : layout_of(self_.sections())) {
      if (tensor.elements.begin < parts_[i].begin || tensor.elements.end > parts_[i].end) continue;
      tensor.elements.begin -= parts_[i].begin;
      tensor.elements.end -= parts_[i].begin;
      layout.push_back(tensor);
    }
    coded_.emplace_back(self_, agreed_, rules_.compression, layout, concat(" of fragment ", i));
  }
  if (rules_.outer) return;
  common_ = self_.initial_model();
  if (!common_.data.ghost()) self_.keep("common model", common_.data.span());
}

Data FragmentAverage::own_part() {
  const Slice part = parts_[turn_.fragment];
  return self_.parameters().part(part.begin, part.end);
}

Data FragmentAverage::exchanged_part() {
  return copy_.data.count > 0 ? copy_.data.part(0, own_part().count) : own_part();
}

void FragmentAverage::take_part() {
  if (copy_.data.count > 0) copy(own_part(), exchanged_part());
  ++turn_.round;
}

void FragmentAverage::begin() {
  take_part();
  turn_.begun = true;
  scope_.spawn(average_beside(exchanged_part()), "average of a fragment");
}

Task<> FragmentAverage::average(Data data, Reduction how) {
  return agreed_.noted_all_reduce(Channel::kModel, turn_.round, data, how, rules_.algorithm);
}

Task<> FragmentAverage::average_coded(Data data, Reduction how) {
  const Slice part = parts_[turn_.fragment];
  const Data common =
      rules_.outer ? outer_[turn_.fragment].common() : common_.data.part(part.begin, part.end);
  const double weight = how.kind == Reduction::Kind::kWeightedMean ? how.weight : 1;
  const bool ghost = data.ghost();
  const std::span<float> change = floats(data);
  for (std::size_t i = 0; i < change.size() && !ghost; ++i) change[i] -= floats(common)[i];
  co_await coded_[turn_.fragment].of(data, weight);
  for (std::size_t i = 0; i < change.size() && !ghost; ++i) change[i] += floats(common)[i];
  if (!rules_.outer) copy(data, common);
}

Task<> FragmentAverage::average_beside(Data data) {
  return agreed_.in_order(data, [this, data, round = turn_.round](const ExchangeTerms& terms, Tag) {
    return all_reduce_beside(self_, computed_, terms.group, data, Reduction::mean(),
                             tag_in(terms.epoch, Channel::kModel, round), rules_.algorithm);
  });
}

Task<> FragmentAverage::settle() { co_await scope_.join(); }

Task<> FragmentAverage::finish(Reduction how) {
  if (turn_.begun) {
    co_await settle();
  } else {
    take_part();
    Task<> exchange = coded_.empty() ? average(exchanged_part(), how) : average_coded(exchanged_part(), how);
    co_await exchange;
  }
  if (rules_.outer) {
    outer_[turn_.fragment].step(exchanged_part());
    outer_[turn_.fragment].pull(rules_.mix);
  }
  turn_.begun = false;
  turn_.fragment = (turn_.fragment + 1) % rules_.fragments;
}

Task<> FragmentAverage::make_one_model(Reduction how) {
  if (turn_.begun) co_await finish();
  ++turn_.round;
  co_await average(self_.parameters(), how);
}

}  // namespace starling::strategy
