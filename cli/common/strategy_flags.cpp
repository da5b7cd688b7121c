#include "cli/common/strategy_flags.h"

#include <algorithm>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using strategy::OptionSpec;
using strategy::StrategyEntry;

// Also by the name in run.json, which flags had once.
const OptionSpec* find(const StrategyEntry& row, const std::string& name) {
  const auto found = std::find_if(row.options.begin(), row.options.end(), [&](const OptionSpec& option) {
    return option.name == name || option.key() == name;
  });
  return found == row.options.end() ? nullptr : &*found;
}

[[noreturn]] void refuse(const StrategyEntry& row, const std::string& name,
                         const std::vector<std::string>& own_flags) {
  std::vector<std::string_view> owners;
  std::string spelt = name;
  for (const StrategyEntry& other : strategy::registry()) {
    const OptionSpec* const option = find(other, name);
    if (option == nullptr) continue;
    owners.push_back(other.name);
    spelt = option->name;
  }
  std::vector<std::string> options;
  for (const OptionSpec& option : row.options) options.push_back(concat("--", option.name));
  const std::string has = options.empty() ? "none" : join_texts(options);
  if (!owners.empty()) {
    throw InvalidArgument(concat("--", spelt, " is an option of strategy ", join_texts(owners), ", not of ",
                                 row.name, "; the options of ", row.name, " are: ", has));
  }
  std::vector<std::string_view> known(own_flags.begin(), own_flags.end());
  known.insert(known.end(), options.begin(), options.end());
  const std::string flag = concat("--", name);
  const std::string_view meant = nearest(flag, known);
  throw InvalidArgument(concat("unknown flag ", flag,
                               meant.empty() ? "" : concat(", did you mean ", meant, "?"),
                               "; the options of ", row.name, " are: ", has, "; see --help for the others"));
}

}  // namespace

strategy::OptionTexts read_strategy_flags(const StrategyEntry& row, const std::vector<std::string>& words,
                                          const std::vector<std::string>& own_flags) {
  strategy::OptionTexts texts;
  for (std::size_t at = 0; at < words.size(); ++at) {
    const std::string& word = words[at];
    if (!word.starts_with("--") || word.size() == 2) {
      throw InvalidArgument(concat("'", word, "' is not a flag; allowed: --name value"));
    }
    const std::size_t equals = word.find('=');
    const std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    const OptionSpec* option = strategy::find_option(row.options, name, "--");
    if (option == nullptr) refuse(row, name, own_flags);
    std::string value;
    if (equals != std::string::npos) {
      value = word.substr(equals + 1);
    } else if (at + 1 < words.size() && !words[at + 1].starts_with("--")) {
      value = words[++at];
    } else if (option->kind == OptionSpec::Kind::kFlag) {
      value = "1";
    } else {
      throw InvalidArgument(concat("--", name, " needs a value; allowed: ", option->allowed()));
    }
    if (!texts.emplace(name, value).second) throw InvalidArgument(concat("--", name, " is given twice"));
  }
  return texts;
}

std::vector<std::string> flags_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) names.push_back(option->get_name());
  return names;
}

}  // namespace starling::cli
