#include "cli/strategies.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>
#include <optional>

#include "starling/core/error.h"

namespace starling::cli {
namespace {

using strategy::OptionSpec;
using strategy::StrategyEntry;

std::string default_of(const OptionSpec& option) { return option.fallback.empty() ? "-" : option.fallback; }

std::string help_of(const OptionSpec& option) {
  return option.only_with.empty() ? option.help : concat(option.help, " (with ", option.condition(), ")");
}

struct Promise {
  std::string_view what;
  std::string text;
};

std::string after_a_death(const StrategyEntry& row) {
  if (row.promises.on_loss == strategy::OnLoss::kEnds) return "the others end with an error that names it";
  constexpr int kSome = 2;
  const auto strategy = row.make(strategy::Options::parse(row.options, row.name, {}), kSome);
  if (strategy->service() == strategy::Placement::kNone) return "the others go on";
  return "the others go on; if it ran the service, they end with an error that names it";
}

std::vector<Promise> promises_of(const StrategyEntry& row) {
  const strategy::Promises& promises = row.promises;
  return {{"waits for", promises.waits_for},
          {"staleness", promises.staleness},
          {"bytes sent", concat(promises.bytes, " per worker and step")},
          {"steps", promises.steps},
          {"a worker dies", after_a_death(row)},
          {"a worker joins later", promises.takes_joiners ? "is taken in" : "not supported"}};
}

void list() {
  for (const StrategyEntry& row : strategy::registry()) fmt::print("{:<12}{}\n", row.name, row.summary);
  fmt::print("\n`starling strategies NAME` shows the options and promises of a strategy.\n");
}

void show(const StrategyEntry& row) {
  fmt::print("{}: {}\n\nPromises\n", row.name, row.summary);
  for (const Promise& promise : promises_of(row)) fmt::print("  {:<22}{}\n", promise.what, promise.text);
  fmt::print("\nOptions\n");
  for (const OptionSpec& option : row.options) {
    fmt::print("  --{:<12}{}\n  {:<14}{}; default {}\n", option.name, help_of(option), "", option.allowed(),
               default_of(option));
  }
  if (row.options.empty()) fmt::print("  none\n");
}

}  // namespace

std::string strategies_markdown() {
  std::string text =
      "| strategy | idea | waits for | staleness | bytes sent per worker and step | a worker dies |\n"
      "|---|---|---|---|---|---|\n";
  for (const StrategyEntry& row : strategy::registry()) {
    text += fmt::format(
        "| [{}]({}.md) | {} | {} | {} | {} | {} |\n", row.name, row.name, row.summary, row.promises.waits_for,
        row.promises.staleness, row.promises.bytes,
        row.promises.on_loss == strategy::OnLoss::kGoesOn ? "the others go on" : "the others end");
  }
  return text;
}

std::string strategy_markdown(const StrategyEntry& row) {
  std::string text = "| promise | |\n|---|---|\n";
  for (const Promise& promise : promises_of(row))
    text += fmt::format("| {} | {} |\n", promise.what, promise.text);
  text += "\n| option | default | allowed | |\n|---|---|---|---|\n";
  for (const OptionSpec& option : row.options) {
    text += fmt::format("| `--{}` | {} | {} | {} |\n", option.name, default_of(option), option.allowed(),
                        help_of(option));
  }
  return text;
}

void add_strategies(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("strategies", "List the strategies, or show one of them");
  const auto name = std::make_shared<std::optional<std::string>>();
  const auto markdown = std::make_shared<bool>(false);
  command->add_option("name", *name, "strategy whose options and promises to show");
  command->add_flag("--markdown", *markdown, "prints tables for the documentation");
  command->callback([name, markdown] {
    if (!*name) {
      *markdown ? fmt::print("{}", strategies_markdown()) : list();
    } else {
      const StrategyEntry& row = strategy::find_strategy(**name);
      *markdown ? fmt::print("{}", strategy_markdown(row)) : show(row);
    }
  });
}

}  // namespace starling::cli
