// Flags that several commands have, and what their values may be.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "starling/core/types.h"

namespace starling::cli {

inline constexpr long long kMostSteps = 1'000'000'000;
inline constexpr long long kLargestBatch = 1'000'000;
inline constexpr double kLarge = 1e12;

// InvalidArgument naming the flag, the value and what is allowed.
std::uint64_t whole(const std::string& text, std::string_view flag, long long lowest, long long highest);
Duration positive_duration(const std::string& text, std::string_view flag);

inline constexpr const char* kJitterForms =
    "none, normal:S, lognormal:S, exponential, pareto:A, bernoulli:P:X";

// A flag that may be given several times, with one value each time.
void add_repeated(CLI::App& command, const char* flag, std::vector<std::string>& values,
                  const std::string& help, const char* group);

}  // namespace starling::cli
