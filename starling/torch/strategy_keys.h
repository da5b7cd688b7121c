// What a run's strategy must share with that of the run whose checkpoint it continues from. Without LibTorch,
// for code that only reads flags.
#pragma once

#include <string>

#include "starling/data/checkpoint_files.h"
#include "starling/strategy/registry.h"

namespace starling::torch {

inline data::RunKeys strategy_keys(const std::string& strategy, const strategy::OptionTexts& options,
                                   int workers) {
  return {{"strategy", strategy},
          {"strategy options", strategy::options_text(strategy::find_strategy(strategy), options)},
          {"workers", std::to_string(workers)}};
}

}  // namespace starling::torch
