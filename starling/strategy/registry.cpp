#include "starling/strategy/registry.h"

#include "starling/core/error.h"
#include "starling/strategy/adpsgd.h"
#include "starling/strategy/allreduce.h"
#include "starling/strategy/async_sgd.h"
#include "starling/strategy/dear.h"
#include "starling/strategy/dpsgd.h"
#include "starling/strategy/easgd.h"
#include "starling/strategy/hogwild.h"
#include "starling/strategy/local_sgd.h"
#include "starling/strategy/matcha.h"
#include "starling/strategy/noloco.h"
#include "starling/strategy/nonblocking.h"
#include "starling/strategy/ps.h"
#include "starling/strategy/ripples.h"

namespace starling::strategy {

namespace {

// Those that differ from the default: "mode=asp".
OptionTexts chosen(const StrategyEntry& row, const Options& options) {
  OptionTexts texts;
  for (const OptionSpec& spec : row.options) {
    const std::string& value = options.values().find(spec.name)->second;
    if (value != spec.fallback) texts[spec.name] = value;
  }
  return texts;
}

// "mode=asp, server=own"
template <class Map>
std::string text_of(const Map& options) {
  std::vector<std::string> texts;
  texts.reserve(options.size());
  for (const auto& [name, value] : options) texts.push_back(concat(name, "=", value));
  return join_texts(texts);
}

}  // namespace

const std::vector<StrategyEntry>& registry() {
  static const std::vector<StrategyEntry> rows{
      allreduce_row(), dear_row(),    local_sgd_row(), noloco_row(),  ps_row(),
      dpsgd_row(),     matcha_row(),  adpsgd_row(),    ripples_row(), nonblocking_row(),
      easgd_row(),     ea_wild_row(), async_sgd_row(), hogwild_row()};
  return rows;
}

std::string options_text(const StrategyEntry& entry, const OptionTexts& given) {
  return text_of(Options::parse(entry.options, entry.name, given).values());
}

bool has_equal_models(const StrategyEntry& row, const Options& options) {
  return row.equal_models && row.equal_models(options);
}

bool moves_models(const StrategyEntry& row, const Options& options) {
  return row.moves_models && row.moves_models(options);
}

bool needs_one_host(const StrategyEntry& row, const Options& options) {
  return row.needs_one_host && row.needs_one_host(options);
}

void check_hosts(const StrategyEntry& row, const Options& options, bool on_one_host) {
  if (on_one_host || !needs_one_host(row, options)) return;
  const std::string texts = text_of(chosen(row, options));
  throw InvalidArgument(one_host_needed(concat("strategy ", row.name, texts.empty() ? "" : " with ", texts)));
}

std::string one_host_needed(std::string_view what) {
  return concat(what, ": needs all workers on one host, without emulated links between them");
}

void check_equal_models(const StrategyEntry& row, const Options& options) {
  if (has_equal_models(row, options)) return;
  std::vector<std::string> allowed;
  for (const StrategyEntry& other : registry()) {
    for (const OptionTexts& variant : other.variants) {
      if (!has_equal_models(other, Options::parse(other.options, other.name, variant))) continue;
      allowed.push_back(variant.empty() ? other.name : concat(other.name, " with ", text_of(variant)));
      break;
    }
  }
  const std::string texts = text_of(chosen(row, options));
  throw InvalidArgument(
      concat("strategy ", row.name, " with ", texts.empty() ? "its defaults" : texts,
             ": the workers' models may differ between steps; allowed: ", join_texts(allowed)));
}

const StrategyEntry& find_strategy(std::string_view name) {
  std::vector<std::string_view> names;
  for (const StrategyEntry& row : registry()) {
    if (row.name == name) return row;
    names.emplace_back(row.name);
  }
  const std::string_view meant = nearest(name, names);
  throw InvalidArgument(concat("unknown strategy '", name, "'",
                               meant.empty() ? "" : concat(", did you mean '", meant, "'?"), "; there are ",
                               join_texts(names)));
}

}  // namespace starling::strategy
