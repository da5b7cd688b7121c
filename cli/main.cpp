// The program `starling`. Exit codes: 0 fine, 1 an error, 2 bad input; an error is one line on stderr.
#include <CLI/CLI.hpp>
#include <cstdio>

#include "cli/bench.h"
#include "cli/info.h"
#include "cli/simulate.h"
#include "cli/strategies.h"
#include "starling/core/error.h"
#include "starling/core/version.h"

namespace starling::cli {
namespace {

constexpr int kFailed = 1;
constexpr int kBadInput = 2;

int complain(std::string_view text, int code) {
  std::fprintf(stderr, "starling: %s\n", std::string(text.substr(0, text.find('\n'))).c_str());
  return code;
}

// The innermost command that was named.
const CLI::App& named_command(const CLI::App& app) {
  const std::vector<CLI::App*> inner = app.get_subcommands();
  return inner.empty() ? app : named_command(*inner.front());
}

int run(CLI::App& app, int argc, const char* const* argv) {
  try {
    app.parse(argc, argv);
    const CLI::App& command = named_command(app);
    if (command.get_subcommands([](const CLI::App*) { return true; }).empty()) return 0;
    std::fputs(command.help().c_str(), stderr);  // it is only a group: nothing was asked for
    return kBadInput;
  } catch (const CLI::CallForHelp&) {
    std::fputs(named_command(app).help().c_str(), stdout);
    return 0;
  } catch (const CLI::CallForVersion& version) {
    std::printf("%s\n", version.what());
    return 0;
  } catch (const CLI::ParseError& error) {
    return complain(concat(error.what(), " (see starling --help)"), kBadInput);
  } catch (const InvalidArgument& error) {
    return complain(error.what(), kBadInput);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
}

}  // namespace
}  // namespace starling::cli

int main(int argc, char** argv) {
  CLI::App app("Data-parallel training on machines that are not equal", "starling");
  app.set_version_flag("--version", std::string("starling ") + starling::version());
  starling::cli::add_info(app);
  starling::cli::add_bench(app);
  starling::cli::add_simulate(app);
  starling::cli::add_strategies(app);
  return starling::cli::run(app, argc, argv);
}
