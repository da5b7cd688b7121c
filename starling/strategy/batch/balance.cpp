#include "starling/strategy/batch/balance.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "starling/core/error.h"
#include "starling/core/text.h"

namespace starling::strategy {

namespace {

constexpr double kHysteresis = 0.04;      // of a part
constexpr std::uint64_t kEveryStep = 16;  // steps after which speeds are told at first,
constexpr std::uint64_t kSometimes = 4;   // and then after so many
constexpr double kMostSamples = 1e9;
// Of its own: a schedule's exchanges may be under way in the others.
constexpr AgreedExchange::Lane kLane = AgreedExchange::Lane{1} << 27;

double read_most(const std::string& text, const std::string& what) {
  return static_cast<double>(parse_integer(text, what, 1, static_cast<long long>(kMostSamples)));
}

// What each would get by its speed alone, of what those that are not at a limit share.
void share_out(const std::vector<double>& seconds, const std::vector<bool>& fixed, double rest,
               std::vector<double>& parts) {
  double speeds = 0;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!fixed[i] && seconds[i] > 0) speeds += 1 / seconds[i];
  }
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    if (!fixed[i] && seconds[i] > 0) parts[i] = rest / seconds[i] / speeds;
  }
}

// Whole samples: the largest fractions are rounded up.
void round_parts(std::vector<double>& parts, const std::vector<double>& most, double total) {
  std::vector<std::size_t> order(parts.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return parts[a] - std::floor(parts[a]) > parts[b] - std::floor(parts[b]);
  });
  double left = total;
  for (double& part : parts) left -= part = std::floor(part);
  for (bool given = true; left >= 1 && given;) {
    given = false;
    for (const std::size_t i : order) {
      const bool full = most[i] > 0 && parts[i] >= most[i];
      if (left < 1 || parts[i] == 0 || full) continue;
      ++parts[i];
      --left;
      given = true;
    }
  }
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

BalanceRules balance_rules(const Options& options, const std::string& strategy, int workers) {
  BalanceRules rules{.by_speed = options.text("balance") == "speed",
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

// A worker that gets less than a sample, or more than its limit, is taken out of the division, and the others
// share the rest.
std::vector<double> divide_batch(const std::vector<double>& seconds, const std::vector<double>& most,
                                 double total) {
  std::vector<double> parts(seconds.size());
  std::vector<bool> fixed(seconds.size());
  double rest = total;
  for (bool again = true; again;) {
    again = false;
    share_out(seconds, fixed, rest, parts);
    for (std::size_t i = 0; i < seconds.size(); ++i) {
      if (fixed[i] || seconds[i] <= 0) continue;
      const bool over = most[i] > 0 && parts[i] > most[i];
      if (!over && parts[i] >= 1) continue;
      parts[i] = over ? most[i] : 1;
      rest = std::max(0.0, rest - parts[i]);
      fixed[i] = again = true;
    }
  }
  round_parts(parts, most, total);
  return parts;
}

BatchBalance::BatchBalance(Worker& self, AgreedExchange& agreed, BalanceRules rules)
    : self_(self), agreed_(agreed), rules_(std::move(rules)) {
  if (!rules_.by_speed || self.workers() == 1) return;
  parts_.resize(static_cast<std::size_t>(self.workers()));
  numbers_ = self.allocate(parts_.size() + 1);
  self.keep("balance", bytes_of(now_));
  self.keep("balance/parts", std::as_writable_bytes(std::span(parts_)));
}

void BatchBalance::plan(StepPlan& plan) const {
  if (parts_.empty()) return;
  const auto rank = static_cast<std::size_t>(self_.rank());
  const auto own = parts_.begin() + static_cast<std::ptrdiff_t>(rank);
  const double workers = static_cast<double>(parts_.size());
  if (now_.total == 0) {
    plan.portion = {static_cast<double>(rank) / workers, static_cast<double>(rank + 1) / workers};
  } else {
    const double begin = std::accumulate(parts_.begin(), own, 0.0);
    plan.portion = {begin / now_.total, (begin + *own) / now_.total};
  }
}

Task<> BatchBalance::step_computed() {
  if (parts_.empty() || numbers_.data.ghost()) co_return;
  const Duration computed = self_.journal().computing;
  now_.speed.add(seconds_of(computed - computed_before_), static_cast<double>(self_.samples()));
  computed_before_ = computed;
  ++now_.steps;
  if (now_.total > 0 && now_.steps > kEveryStep && now_.steps % kSometimes != 0) co_return;
  const std::span<float> numbers = floats(numbers_.data);
  std::ranges::fill(numbers, 0.0F);
  numbers[static_cast<std::size_t>(self_.rank())] =
      now_.speed.known() ? static_cast<float>(now_.speed.seconds()) : -1;
  numbers.back() = static_cast<float>(self_.samples());
  co_await agreed_.in_lane(kLane, numbers_.data, [this](const ExchangeTerms& terms, Tag) {
    return all_reduce(self_, terms.group, numbers_.data, collective::Reduction::sum(),
                      tag_in(terms.epoch, Channel::kPace, self_.step()));
  });
  divide(numbers);
}

// By numbers that are the same on all workers, which therefore come to the same parts. A lost worker has told
// nothing; one that does not know its speed yet, because its steps had no samples, is waited for.
void BatchBalance::divide(std::span<const float> numbers) {
  if (now_.total == 0) now_.total = numbers.back();
  const std::vector<double> seconds(numbers.begin(), numbers.end() - 1);
  if (now_.total == 0 || std::ranges::any_of(seconds, [](double each) { return each < 0; })) return;
  const std::vector<double> parts = divide_batch(seconds, rules_.most, now_.total);
  bool off = false;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    off = off || std::abs(parts[i] - parts_[i]) > std::max(0.5, kHysteresis * parts_[i]);
  }
  if (off) parts_ = parts;
}

}  // namespace starling::strategy
