// The options of a strategy as flags: `--mode ssp --staleness 3`. They are not known before the strategy is,
// so they are read from what the command's own flags leave over.
#pragma once

#include <CLI/CLI.hpp>
#include <string>
#include <vector>

#include "starling/strategy/registry.h"

namespace starling::cli {

// `own_flags` are the names of the command's flags, as in "--steps", for suggestions. InvalidArgument for a
// word that is no flag, an unknown flag, a flag of another strategy, a flag spelt as in run.json, a flag
// given twice, and a missing value.
strategy::OptionTexts read_strategy_flags(const strategy::StrategyEntry& row,
                                          const std::vector<std::string>& words,
                                          const std::vector<std::string>& own_flags);

// The names of a command's own flags.
std::vector<std::string> flags_of(const CLI::App& command);

}  // namespace starling::cli
