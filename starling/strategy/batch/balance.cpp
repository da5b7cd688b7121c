#include "starling/strategy/batch/balance.h"

#include <algorithm>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::strategy {

namespace {

constexpr std::uint64_t kEveryStep = 16;  // steps after which speeds are told at first,
constexpr std::uint64_t kSometimes = 4;   // and then after so many
constexpr double kMostSamples = 1e9;
// Of its own: a schedule's exchanges may be under way in the others.
constexpr AgreedExchange::Lane kLane = AgreedExchange::Lane{1} << 27;

double read_most(const std::string& text, const std::string& what) {
  return static_cast<double>(parse_integer(text, what, 1, static_cast<long long>(kMostSamples)));
}

}  // namespace

std::vector<OptionSpec> balanced(std::vector<OptionSpec> options, const std::string& condition) {
  OptionSpec balance =
      OptionSpec::choice("balance", {"none", "speed"},
                         "speed: each worker's part of the global batch is in proportion to its "
                         "speed");
  OptionSpec most = OptionSpec::text("max-batch", "none",
                                     "the largest part of a worker, in samples: 64, or by rank 0:64,3:16");
  if (!condition.empty()) balance = std::move(balance).with(condition);
  options.push_back(std::move(balance));
  options.push_back(std::move(most).with("balance=speed"));
  return options;
}

// A worker that is alone has the whole batch, whatever its limit.
BalanceRules balance_rules(const Options& options, const std::string& strategy, int workers) {
  BalanceRules rules{.by_speed = options.text("balance") == "speed" && workers > 1,
                     .most = std::vector<double>(static_cast<std::size_t>(workers))};
  const std::string& text = options.text("max-batch");
  const std::string what = concat("strategy ", strategy, ", option max-batch");
  if (text == "none") return rules;
  for (const std::string& item : split(text, ',')) {
    const std::vector<std::string> words = split(item, ':');
    if (words.size() == 1) {
      rules.most.assign(rules.most.size(), read_most(words[0], what));
    } else if (words.size() == 2) {
      const auto rank = static_cast<std::size_t>(parse_integer(words[0], what, 0, workers - 1));
      rules.most[rank] = read_most(words[1], what);
    } else {
      throw InvalidArgument(concat(what, ": '", item, "'; allowed: SAMPLES, or RANK:SAMPLES,..."));
    }
  }
  return rules;
}

WorkerSpeed::WorkerSpeed(Worker& self) : self_(self) { self.keep("speed", bytes_of(now_)); }

void WorkerSpeed::step_computed() {
  const Duration computed = self_.journal().computing;
  now_.estimate.add(seconds_of(computed - computed_before_), static_cast<double>(self_.samples()));
  computed_before_ = computed;
  ++now_.steps;
}

BatchBalance::BatchBalance(Worker& self, AgreedExchange& agreed, const BalanceRules& rules)
    : self_(self), agreed_(agreed), parts_(self.workers(), rules.most) {
  if (!rules.by_speed) return;
  speed_.emplace(self);
  parts_.keep_with(self);
  numbers_ = self.allocate_numbers(static_cast<std::size_t>(self.workers()) + 1);
}

void BatchBalance::plan(StepPlan& plan) const {
  if (speed_) plan.portion = parts_.of(self_.rank());
}

Task<> BatchBalance::step_computed() {
  if (!speed_) co_return;
  speed_->step_computed();
  if (parts_.known() && speed_->steps() > kEveryStep && speed_->steps() % kSometimes != 0) co_return;
  const std::span<float> numbers = floats(numbers_.data);
  std::ranges::fill(numbers, 0.0F);
  numbers[static_cast<std::size_t>(self_.rank())] = static_cast<float>(speed_->seconds());
  numbers.back() = static_cast<float>(self_.samples());
  co_await agreed_.in_lane(kLane, numbers_.data, [this](const ExchangeTerms& terms, Tag) {
    return all_reduce(self_, terms.group, numbers_.data, collective::Reduction::sum(),
                      tag_in(terms.epoch, Channel::kPace, self_.step()));
  });
  // A lost worker has told nothing.
  parts_.divide({numbers.begin(), numbers.end() - 1}, numbers.back());
}

}  // namespace starling::strategy
