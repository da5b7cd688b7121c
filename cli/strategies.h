// `starling strategies`: what there is to choose from, and what each promises.
#pragma once

#include <CLI/CLI.hpp>
#include <string>

#include "starling/strategy/registry.h"

namespace starling::cli {

void add_strategies(CLI::App& app);

// Tables for docs/strategies, from the same facts: all strategies, and the options and promises of one.
std::string strategies_markdown();
std::string strategy_markdown(const strategy::StrategyEntry& row);

}  // namespace starling::cli
